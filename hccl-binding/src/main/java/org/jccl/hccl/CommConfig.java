package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.OptionalInt;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.hccl.HcclOptions.Determinism;

/**
 * An {@code HcclCommConfig}. It always has the size of the newest version. Every field without an
 * option has its "not set" value, because the code for some devices does not check the announced
 * version. The announced version is the oldest one that has the given fields.
 */
final class CommConfig {

    /** The size in version 11, the newest known. */
    static final int BYTES = 2248;

    private static final int NOT_SET = -1;
    private static final int MAGIC = 0xF0F0F0F0;

    static final int SIZE = 0;
    static final int MAGIC_WORD = 8;
    static final int VERSION = 12;
    static final int BUFFER_SIZE = 24;
    static final int DETERMINISTIC = 28;
    static final int UDI = 160;
    static final int OP_EXPANSION_MODE = 288;
    static final int TRAFFIC_CLASS = 292;
    static final int SERVICE_LEVEL = 296;
    static final int EXEC_TIMEOUT = 316;
    static final int ALGO = 320;
    static final int QOS = 2228;
    static final int SYM_WIN_MAX_MEM_SIZE = 2232;
    static final int CHANNEL_SQ_DEPTH = 2240;

    private static final int TEXT_BYTES = 128;
    private static final int DEFAULT_SYM_WIN_GIGABYTES = 16;

    /** The default for sub-groups, of which a process usually has many: see the guide. */
    static final int DEFAULT_SUB_GROUP_MEGABYTES = 50;

    private static final String BUFFER_VARIABLE = "HCCL_BUFFSIZE";

    /** Numbers of HCCL's capabilities. A library has all that are below its number. */
    private static final int EXECUTION_TIMEOUT = 8;

    private static final int ALGORITHM = 9;

    private final Memory memory = new Memory(BYTES);

    /**
     * Fills a block.
     *
     * @param options the options of the group
     * @param group the name of the group, for profiles
     * @param isPart whether the group is a part of another one
     * @param capability the number of the library's capabilities
     * @param knowsDeterminism whether the library reads the determinism from its environment, and
     *     has a strict mode: since 8.2.RC1
     * @param environment the settings to pass if the library cannot read them itself
     * @throws UsageException if the library lacks a field for an option
     */
    CommConfig(
            HcclOptions options,
            String group,
            boolean isPart,
            int capability,
            boolean knowsDeterminism,
            Map<String, String> environment) {
        memory.clear();
        memory.setInt(TRAFFIC_CLASS, NOT_SET);
        memory.setInt(SERVICE_LEVEL, NOT_SET);
        memory.setInt(EXEC_TIMEOUT, NOT_SET);
        memory.setInt(QOS, NOT_SET);
        memory.setLong(SYM_WIN_MAX_MEM_SIZE, DEFAULT_SYM_WIN_GIGABYTES);
        memory.setInt(CHANNEL_SQ_DEPTH, NOT_SET);

        memory.setInt(MAGIC_WORD, MAGIC);
        memory.setInt(BUFFER_SIZE, bufferMegabytes(options, isPart, environment).orElse(NOT_SET));
        memory.setInt(
                DETERMINISTIC,
                options.determinism()
                        .map(Enum::ordinal)
                        .orElse(knowsDeterminism ? NOT_SET : deterministic(environment)));
        require(
                knowsDeterminism
                        || options.determinism().orElse(Determinism.ON) != Determinism.STRICT,
                "determinism STRICT");
        setText(UDI, group);
        announce(3, UDI + TEXT_BYTES);
        if (options.expansion().isPresent()) {
            memory.setInt(OP_EXPANSION_MODE, options.expansion().get().ordinal());
            announce(4, OP_EXPANSION_MODE + Integer.BYTES);
        }
        if (options.trafficClass().isPresent() || options.serviceLevel().isPresent()) {
            memory.setInt(TRAFFIC_CLASS, options.trafficClass().orElse(NOT_SET));
            memory.setInt(SERVICE_LEVEL, options.serviceLevel().orElse(NOT_SET));
            announce(5, SERVICE_LEVEL + Integer.BYTES);
        }
        if (options.executionTimeout().isPresent()) {
            require(capability > EXECUTION_TIMEOUT, "executionTimeout");
            memory.setInt(EXEC_TIMEOUT, (int) options.executionTimeout().get().getSeconds());
            announce(8, 2104);
        }
        if (options.algorithm().isPresent()) {
            require(capability > ALGORITHM, "algorithm");
            memory.setString(ALGO, options.algorithm().get(), StandardCharsets.US_ASCII.name());
            announce(8, 2104);
        }
    }

    private void announce(int version, int bytes) {
        memory.setLong(SIZE, bytes);
        memory.setInt(VERSION, version);
    }

    /** The size of a buffer; empty for HCCL's own default. */
    private static OptionalInt bufferMegabytes(
            HcclOptions options, boolean isPart, Map<String, String> environment) {
        if (isPart && options.subGroupBufferMegabytes().isPresent()) {
            return options.subGroupBufferMegabytes();
        }
        boolean given =
                options.bufferMegabytes().isPresent() || environment.containsKey(BUFFER_VARIABLE);
        return isPart && !given
                ? OptionalInt.of(DEFAULT_SUB_GROUP_MEGABYTES)
                : options.bufferMegabytes();
    }

    /** The number for libraries that do not read it themselves; they have no strict mode. */
    private static int deterministic(Map<String, String> environment) {
        String given = environment.getOrDefault("HCCL_DETERMINISTIC", "");
        return given.equalsIgnoreCase("true") || given.equalsIgnoreCase("strict") ? 1 : 0;
    }

    private void setText(int offset, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        memory.write(offset, bytes, 0, Math.min(bytes.length, TEXT_BYTES - 1));
    }

    static void require(boolean supported, String option) {
        if (!supported) {
            throw new UsageException(
                    FailureContext.NONE,
                    "HCCL options: the installed CANN is too old for " + option);
        }
    }

    /** The address; the library reads it during the call. */
    long address() {
        return Pointer.nativeValue(memory);
    }

    /** Its bytes, for tests. */
    byte[] bytes() {
        return memory.getByteArray(0, BYTES);
    }
}

package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.ranktable.AscendChip;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableException;
import org.jccl.ranktable.RankTableFormat;
import org.jccl.spi.PathSetting;

/**
 * The rank table of a world, which is checked before HCCL reads it. HCCL only returns a number, but
 * this class says what is wrong; and if only one rank failed inside HCCL, the others would wait.
 */
final class RankTableFile {

    private static final System.Logger LOGGER = System.getLogger(RankTableFile.class.getName());

    private static final String SUFFIX = ".json";
    private static final int LONGEST_PATH = 4095;

    /** The most faults in a message. */
    private static final int SHOWN = 10;

    /** CANN's function for the number of a device on its node. */
    private static final String PHYSICAL = "aclrtGetPhyDevIdByLogicDevId";

    /** Selects the devices of a process, and so changes their numbers. */
    private static final String VISIBLE = "ASCEND_RT_VISIBLE_DEVICES";

    private RankTableFile() {}

    /** The table that the options or the environment name. */
    static Optional<Path> of(HcclOptions options, Map<String, String> environment) {
        String named = environment.getOrDefault(RankTable.VARIABLE, "");
        Optional<Path> file = options.rankTable();
        return file.isPresent() || named.isBlank()
                ? file
                : Optional.of(PathSetting.of("environment variable " + RankTable.VARIABLE, named));
    }

    /**
     * Checks a table.
     *
     * @param given the file
     * @param rank of this process
     * @param size number of ranks in the world
     * @param device the number of this rank's device in this process
     * @param libraries to query the physical number of the device
     * @param timeout how long to wait for a table that is still being made
     * @return the absolute path, or empty if HCCL cannot form the world by this table
     */
    static Optional<Path> check(
            Path given, int rank, int size, int device, HcclLibraries libraries, Duration timeout) {
        Path file = given.toAbsolutePath();
        require(Files.isReadable(file), file, "cannot be read");
        require(file.toString().endsWith(SUFFIX), file, "must end with .json, or HCCL rejects it");
        require(
                file.toString().getBytes(StandardCharsets.UTF_8).length <= LONGEST_PATH,
                file,
                "has a path that is too long for HCCL");
        RankTable.awaitCompleted(file, timeout);
        RankTable table = RankTable.read(file);
        boolean forms = table.format() != RankTableFormat.HCCL_GROUP_LIST || table.formsWorlds();
        if (forms) {
            libraries.chip().family().ifPresent(chip -> checkChip(table, file, chip));
        }
        require(
                table.size() == size,
                file,
                "has " + table.size() + " ranks, the world has " + size);
        int physical = physical(device, libraries);
        OptionalInt right = visible(table.device(rank), libraries);
        require(
                physical < 0 || physical == table.device(rank),
                file,
                "gives rank "
                        + rank
                        + " the device "
                        + table.device(rank)
                        + " of its node, but npu:"
                        + device
                        + " is device "
                        + physical
                        + (right.isPresent()
                                ? ": leave out the device, or name npu:" + right.getAsInt()
                                : ": this process does not see that device, see " + VISIBLE));
        return forms ? Optional.of(file) : Optional.empty();
    }

    /**
     * Returns the number in this process of the device that a table gives to a rank. Empty if the
     * table is not valid, which {@link #check} reports, or if this process does not see the device.
     */
    static OptionalInt device(Path file, int rank, HcclLibraries libraries) {
        try {
            RankTable table = RankTable.read(file);
            return rank < table.size()
                    ? visible(table.device(rank), libraries)
                    : OptionalInt.empty();
        } catch (RankTableException reportedLater) {
            return OptionalInt.empty();
        }
    }

    private static OptionalInt visible(int physical, HcclLibraries libraries) {
        int count = libraries.runtime().deviceCount();
        if (!libraries.has(PHYSICAL) && System.getenv(VISIBLE) == null) {
            return physical < count ? OptionalInt.of(physical) : OptionalInt.empty();
        }
        return IntStream.range(0, count)
                .filter(device -> physical(device, libraries) == physical)
                .findFirst();
    }

    /** HCCL would only return a number. */
    private static void checkChip(RankTable table, Path file, AscendChip chip) {
        List<RankTableException.Fault> faults = table.faultsOn(chip);
        require(
                faults.isEmpty(),
                file,
                "is not one that HCCL takes on "
                        + chip
                        + faults.stream()
                                .limit(SHOWN)
                                .map(fault -> "\n  " + fault)
                                .collect(Collectors.joining()));
    }

    private static void require(boolean right, Path file, String problem) {
        if (!right) {
            throw new UsageException(
                    FailureContext.NONE,
                    "rank table "
                            + file
                            + " "
                            + problem
                            + " ("
                            + RankTable.VARIABLE
                            + ", HcclOptions.rankTable)");
        }
    }

    /** The number of a device on its node, or -1 if CANN does not report it. */
    private static int physical(int device, HcclLibraries libraries) {
        if (!libraries.has(PHYSICAL)) {
            return -1;
        }
        try (Memory out = new Memory(Integer.BYTES)) {
            int code = Acl.aclrtGetPhyDevIdByLogicDevId(device, Pointer.nativeValue(out));
            if (code == Acl.SUCCESS) {
                return out.getInt(0);
            }
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "the rank table''s device of this rank is not checked: {0}",
                    CannErrors.of(code, PHYSICAL).reason());
            return -1;
        }
    }
}

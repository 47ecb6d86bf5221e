package org.jccl.sccl;

import com.sun.jna.Function;
import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.sccl.abi.UniqueId;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;
import org.jccl.spi.StreamCommunicator;

/**
 * Forms a communicator: finds the TPUs of the ranks, shares the unique id through the store, and
 * initialises SCCL with both. The initialisation does not communicate with the other ranks.
 */
final class ScclConnector {

    private static final System.Logger LOGGER = System.getLogger(ScclConnector.class.getName());

    /** The library writes one TPU for each rank into an array of this length, without a check. */
    static final int MOST_RANKS = 16;

    /** The fewest TPUs whose order matters for the ring of links. */
    private static final int SMALLEST_RING = 4;

    /** As in the vendor's plugin for PyTorch. */
    private static final String ID_KEY = "ProcessGroupSCCL";

    private static final String ID_VARIABLE = "TPU_GROUP_IDX";

    private final ScclLibraries libraries;
    private final CommunicatorConfig config;
    private final ScclOptions options;
    private final TpuDevice device;

    ScclConnector(ScclLibraries libraries, CommunicatorConfig config) {
        this.libraries = libraries;
        this.config = config;
        this.options = config.options(ScclOptions.class).orElseGet(ScclOptions::defaults);
        int index = config.device().index();
        if (index >= libraries.deviceCount()) {
            throw usage(
                    "there is no "
                            + config.device()
                            + "; this host has "
                            + libraries.deviceCount());
        }
        this.device = libraries.runtime().device(index);
    }

    StreamCommunicator connect() {
        List<String> keys = new ArrayList<>(ChipMap.keys(config.size()));
        keys.add(idKey());
        return config.join("sccl", keys, this::connectHere);
    }

    private StreamCommunicator connectHere() {
        if (config.size() > MOST_RANKS) {
            throw usage(
                    "SCCL takes at most "
                            + MOST_RANKS
                            + " ranks, this group has "
                            + config.size()
                            + "; make groups of up to "
                            + MOST_RANKS
                            + " ranks with newGroup on another backend's world");
        }
        int[] chips = {device.index};
        byte[] id = null;
        if (config.size() > 1) {
            long deadline = System.nanoTime() + config.joinTimeout().toNanos();
            chips = ChipMap.of(config, options, System.getenv());
            id = shareId(chips, deadline);
        }
        return new DeviceCommunicator(device, create(id, chips));
    }

    private ScclCommunicator create(byte[] id, int[] chips) {
        return device.thread.get(
                () -> {
                    ScclCalls calls =
                            new ScclCalls(
                                    id == null ? 0 : initialise(id, chips),
                                    config.rank(),
                                    config.size(),
                                    libraries.hasMessages(),
                                    device.memory);
                    return new ScclCommunicator(calls, libraries.runtime(), config, chips);
                });
    }

    private static String idKey() {
        return ID_KEY + System.getenv().getOrDefault(ID_VARIABLE, "");
    }

    private byte[] shareId(int[] chips, long deadline) {
        Store store = config.requireStore("SCCL needs a store to connect ranks");
        Duration left = Duration.ofNanos(Math.max(1, deadline - System.nanoTime()));
        if (config.rank() != 0) {
            return config.fetch(idKey(), UniqueId.BYTES, "SCCL id", left);
        }
        byte[][] id = new byte[1][];
        // The vendor does not document that these calls end.
        if (!device.thread.run(() -> id[0] = createId(chips), left)) {
            throw OperationTimeoutException.ofCall(
                    FailureContext.NONE,
                    "setting up the links between the TPUs did not complete within "
                            + Durations.rounded(config.joinTimeout()),
                    null);
        }
        store.set(idKey(), id[0]);
        return id[0];
    }

    private byte[] createId(int[] chips) {
        long handle = device.queue(0).handle();
        setUpLinks(chips, handle);
        return createId(handle);
    }

    private void setUpLinks(int[] chips, long handle) {
        if (config.parent().isEmpty()) {
            setUpTopology(handle);
            checkRing(chips);
        }
    }

    private byte[] createId(long handle) {
        try (Memory id = new Memory(UniqueId.BYTES)) {
            id.clear();
            long address = Pointer.nativeValue(id);
            // Libraries without this function can have an older form of scclGetUniqueId too.
            if (libraries.scclFunction("scclDestoryHandle").isPresent()) {
                ScclErrors.check(Sccl.scclGetUniqueId(handle, address), "scclGetUniqueId");
            } else {
                TpuErrors.checkDnn(Tpudnn.tpudnnGetUniqueId(handle, address), "tpudnnGetUniqueId");
            }
            return id.getByteArray(0, UniqueId.BYTES);
        }
    }

    /**
     * Sets up the links; one rank calls it, once in a job. Until 2025 the function took a handle.
     * It always gets one, because a function without parameters ignores it. A failure is only
     * logged: the vendor's own plugin does not check it.
     */
    private void setUpTopology(long handle) {
        Function setup =
                libraries
                        .scclFunction("scclSetupC2CTopology")
                        .orElseThrow(
                                () ->
                                        new NativeException(
                                                FailureContext.NONE,
                                                "libsccl",
                                                0,
                                                "it has no scclSetupC2CTopology: it is too old"));
        int code = setup.invokeInt(new Object[] {handle});
        if (code != 0) {
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "scclSetupC2CTopology failed with code {0}; collectives may fail, look at the"
                            + " driver''s log",
                    code);
        }
    }

    /**
     * Logs a warning if the ranks do not follow a ring of links, which the library does not check.
     */
    private void checkRing(int[] chips) {
        Optional<Function> check = libraries.dnnFunction("tpudnnCheckChipMap");
        if (chips.length < SMALLEST_RING || check.isEmpty()) {
            return;
        }
        if (check.get().invokeInt(new Object[] {chips.length, chips.clone()}) == 0) {
            return;
        }
        int[] ring = new int[chips.length];
        boolean known =
                libraries
                        .dnnFunction("tpudnnGetC2CRing")
                        .map(get -> get.invokeInt(new Object[] {ring.length, ring}) == 0)
                        .orElse(false);
        LOGGER.log(
                System.Logger.Level.WARNING,
                "the TPUs "
                        + Arrays.toString(chips)
                        + " do not form a ring of links in this order, so collectives may fail or"
                        + " be slow"
                        + (known ? "; a ring is " + Arrays.toString(ring) : ""));
    }

    private long initialise(byte[] id, int[] chips) {
        try (Memory communicator = new Memory(Long.BYTES);
                Memory map = new Memory((long) Integer.BYTES * chips.length)) {
            map.write(0, chips, 0, chips.length);
            ScclErrors.check(
                    Sccl.scclCommInitRank(
                            Pointer.nativeValue(communicator),
                            config.size(),
                            new UniqueId.ByValue(id),
                            config.rank(),
                            Pointer.nativeValue(map)),
                    "scclCommInitRank");
            return communicator.getLong(0);
        }
    }

    private static UsageException usage(String problem) {
        return new UsageException(FailureContext.NONE, problem);
    }
}

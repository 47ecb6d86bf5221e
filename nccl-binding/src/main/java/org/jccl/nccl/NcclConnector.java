package org.jccl.nccl;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.cuda.nccl.ncclConfig_t;
import org.bytedeco.cuda.nccl.ncclUniqueId;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.Pointer;
import org.jccl.BackendOptions;
import org.jccl.BootstrapException;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.OperationTimeoutException;
import org.jccl.UsageException;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.Store;
import org.jccl.store.StoreTimeoutException;

/** Forms a communicator: shares the unique id through the store, then initialises NCCL with it. */
final class NcclConnector {

    /** Major compute capability from which on devices reduce float8. */
    private static final int FLOAT8_CAPABILITY = 9;

    private static final int ID_BYTES = 128;

    /** PyTorch's default. */
    private static final int RANKS_PER_ROOT = 128;

    private static final int UNSET = Integer.MIN_VALUE;
    private static final long POLL_NANOS = 100_000;

    private final CommunicatorConfig config;
    private final String key;
    private final NcclOptions options;
    private final ncclComm communicator = new ncclComm();
    private BytePointer networkName;
    private boolean abandoned;
    private boolean connected;

    private NcclConnector(CommunicatorConfig config, String key) {
        this.config = config;
        this.key = key;
        this.options = options(config);
    }

    private static NcclOptions options(CommunicatorConfig config) {
        BackendOptions given = config.options().orElseGet(NcclOptions::defaults);
        if (given instanceof NcclOptions mine) {
            return mine;
        }
        throw new UsageException(
                FailureContext.NONE,
                "options of backend nccl must be NcclOptions, got " + given.getClass().getName());
    }

    static NcclCommunicator connect(CommunicatorConfig config) {
        requireOneRoot(config);
        NcclConnector connector = new NcclConnector(config, NcclKeys.COMMUNICATOR);
        boolean split =
                config.interop() == Interop.TORCH_EAGER
                        && config.parent().orElse(null) instanceof NcclCommunicator;
        if (split) {
            connector.form(connector::split);
        } else {
            connector.initialise();
        }
        return new NcclCommunicator(
                connector.communicator,
                config,
                connector.networkName,
                supportsFloat8(config.device()));
    }

    /**
     * A communicator of two ranks.
     *
     * @param handle of the communicator
     * @param networkName memory that NCCL reads while it exists, or null
     */
    record Pair(NcclHandle handle, BytePointer networkName) {}

    /** Forms the communicator of two ranks of a group, with the peer that does so too. */
    static Pair connectPair(CommunicatorConfig group, int peer) {
        String key = NcclKeys.pair(group.rank(), peer);
        CommunicatorConfig pair =
                new CommunicatorConfig(
                        group.groupName() + " " + key,
                        group.rank() < peer ? 0 : 1,
                        2,
                        group.store(),
                        group.timeout(),
                        group.device(),
                        group.interop(),
                        group.options(),
                        Optional.empty(),
                        List.of());
        NcclConnector connector = new NcclConnector(pair, key);
        connector.initialise();
        NcclHandle handle =
                new NcclHandle(
                        connector.communicator,
                        pair.groupName(),
                        pair.device().index(),
                        pair.timeout());
        return new Pair(handle, connector.networkName);
    }

    /** Takes part in a split that gives this rank nothing. */
    static void declineSplit(NcclCommunicator parent, CommunicatorConfig config) {
        NcclConnector connector = new NcclConnector(config, NcclKeys.COMMUNICATOR);
        connector.form(
                deadline -> {
                    try (ncclConfig_t settings = connector.settings()) {
                        parent.split(
                                nccl.NCCL_SPLIT_NOCOLOR,
                                config.rank(),
                                connector.communicator,
                                settings);
                    }
                });
    }

    /** PyTorch's ranks share several ids where there are more ranks than one of them may serve. */
    private static void requireOneRoot(CommunicatorConfig config) {
        String variable = "TORCH_NCCL_RANKS_PER_ROOT";
        String said = System.getenv().getOrDefault(variable, "").strip();
        int most = said.matches("[0-9]{1,9}") ? Integer.parseInt(said) : RANKS_PER_ROOT;
        if (config.interop() != Interop.NONE && config.size() > most) {
            throw new UsageException(
                    FailureContext.NONE,
                    "PyTorch's ranks form a group of "
                            + config.size()
                            + " ranks in a way that is not supported here: set "
                            + variable
                            + "="
                            + config.size()
                            + " for every rank");
        }
    }

    private interface Former {
        void form(long deadline);
    }

    /** A blocking call can not be stopped, so it must not hold the caller. */
    private void form(Former former) {
        form(former, System.nanoTime() + config.timeout().toNanos());
    }

    private void form(Former former, long deadline) {
        boolean done =
                Deadline.run(
                        "jccl-nccl-connect-" + config.groupName() + "-" + config.rank(),
                        () -> {
                            former.form(deadline);
                            finish();
                        },
                        Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
        if (!done) {
            abandon();
            throw timeout();
        }
    }

    private OperationTimeoutException timeout() {
        return new OperationTimeoutException(
                FailureContext.NONE,
                "forming the communicator of group "
                        + config.groupName()
                        + " did not finish in "
                        + config.timeout()
                        + ": not all "
                        + config.size()
                        + " ranks take part, or they can not reach each other; NCCL_DEBUG=INFO tells"
                        + " more");
    }

    private ncclUniqueId shareId() {
        ncclUniqueId id = new ncclUniqueId();
        BytePointer bytes = id.internal().capacity(ID_BYTES);
        if (config.size() == 1) {
            check(nccl.ncclGetUniqueId(id), "ncclGetUniqueId");
            return id;
        }
        Store store =
                config.store()
                        .orElseThrow(
                                () ->
                                        new UsageException(
                                                FailureContext.NONE,
                                                "NCCL needs a store to connect ranks; build the group"
                                                        + " with one, or under a launcher"));
        if (config.rank() == 0) {
            check(nccl.ncclGetUniqueId(id), "ncclGetUniqueId");
            byte[] copy = new byte[ID_BYTES];
            bytes.get(copy);
            store.set(key, copy);
            return id;
        }
        bytes.put(fetchId(store));
        return id;
    }

    private byte[] fetchId(Store store) {
        try {
            store.await(List.of(key), config.timeout());
        } catch (StoreTimeoutException e) {
            throw new OperationTimeoutException(
                    FailureContext.NONE,
                    "rank 0 put no NCCL id into the store in " + config.timeout(),
                    e);
        }
        byte[] id = store.get(key);
        if (id.length != ID_BYTES) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "the NCCL id in the store has "
                            + id.length
                            + " bytes instead of "
                            + ID_BYTES
                            + "; is the store used by another job?");
        }
        return id;
    }

    private void initialise() {
        long deadline = System.nanoTime() + config.timeout().toNanos();
        ncclUniqueId id = shareId();
        form(end -> initialise(id, end), deadline);
        id.close();
    }

    private void initialise(ncclUniqueId id, long deadline) {
        CudaRuntime.check(cudart.cudaSetDevice(config.device().index()), "cudaSetDevice");
        try (ncclConfig_t settings = settings()) {
            int code =
                    nccl.ncclCommInitRankConfig(
                            communicator, config.size(), id, config.rank(), settings);
            settle(code, deadline, "ncclCommInitRankConfig");
        }
    }

    private void split(long deadline) {
        CudaRuntime.check(cudart.cudaSetDevice(config.device().index()), "cudaSetDevice");
        NcclCommunicator parent = (NcclCommunicator) config.parent().orElseThrow();
        try (ncclConfig_t settings = settings()) {
            int color = NcclKeys.splitColor(config.parentRanks());
            parent.split(color, config.rank(), communicator, settings);
            settle(nccl.ncclInProgress, deadline, "ncclCommSplit");
        }
    }

    private void settle(int code, long deadline, String call) {
        int settled = code == nccl.ncclInProgress ? pollUntil(deadline) : code;
        if (settled != nccl.ncclSuccess && !communicator.isNull()) {
            var failure = NcclErrors.of(settled, call, communicator);
            nccl.ncclCommAbort(communicator);
            throw settled == nccl.ncclInProgress ? timeout() : failure;
        }
        check(settled, call);
    }

    private synchronized void finish() {
        connected = !communicator.isNull();
        if (abandoned && connected) {
            nccl.ncclCommAbort(communicator);
        }
    }

    private int pollUntil(long deadline) {
        try (IntPointer state = new IntPointer(1)) {
            state.put(nccl.ncclInProgress);
            while (System.nanoTime() - deadline < 0) {
                check(nccl.ncclCommGetAsyncError(communicator, state), "ncclCommGetAsyncError");
                if (state.get() != nccl.ncclInProgress) {
                    break;
                }
                LockSupport.parkNanos(POLL_NANOS);
            }
            return state.get();
        }
    }

    /** Has a communicator that comes too late aborted by the thread that waits for it. */
    private synchronized void abandon() {
        abandoned = true;
        if (connected) {
            Deadline.start("jccl-nccl-abort", () -> nccl.ncclCommAbort(communicator));
        }
    }

    /** NCCL's initializer is a macro, which the presets lack: everything is unset one by one. */
    private ncclConfig_t settings() {
        ncclConfig_t settings = new ncclConfig_t();
        Pointer.memset(settings, 0, settings.sizeof());
        settings.size(settings.sizeof())
                .magic(nccl.NCCL_API_MAGIC)
                .version(nccl.NCCL_VERSION_CODE)
                .blocking(options.blocking() ? 1 : 0)
                .cgaClusterSize(options.cgaClusterSize().orElse(UNSET))
                .minCTAs(options.minCtas().orElse(UNSET))
                .maxCTAs(options.maxCtas().orElse(UNSET))
                .splitShare(UNSET)
                .trafficClass(options.trafficClass().orElse(UNSET))
                .collnetEnable(UNSET)
                .CTAPolicy(UNSET)
                .shrinkShare(UNSET)
                .nvlsCTAs(UNSET)
                .nChannelsPerNetPeer(UNSET)
                .nvlinkCentricSched(UNSET)
                .graphUsageMode(UNSET)
                .numRmaCtx(UNSET);
        if (options.networkName().isPresent()) {
            // NCCL reads it later too, so the communicator keeps it.
            networkName = new BytePointer(options.networkName().get());
            settings.netName(networkName);
        }
        return settings;
    }

    private static boolean supportsFloat8(Device device) {
        int[] major = new int[1];
        CudaRuntime.check(
                cudart.cudaDeviceGetAttribute(
                        major, cudart.cudaDevAttrComputeCapabilityMajor, device.index()),
                "cudaDeviceGetAttribute");
        return major[0] >= FLOAT8_CAPABILITY;
    }

    private static void check(int code, String call) {
        if (code != nccl.ncclSuccess) {
            throw NcclErrors.of(code, call, null);
        }
    }
}

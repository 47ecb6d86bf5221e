package org.jccl.nccl;

import java.time.Duration;
import java.util.List;
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
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.UsageException;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.Store;
import org.jccl.store.StoreTimeoutException;

/** Forms a communicator: shares the unique id through the store, then initialises NCCL with it. */
final class NcclConnector {

    /** PyTorch's name for the id of a group's first communicator, so that both can form one. */
    private static final String ID_KEY = "0";

    /** Major compute capability from which on devices reduce float8. */
    private static final int FLOAT8_CAPABILITY = 9;

    private static final int ID_BYTES = 128;
    private static final int UNSET = Integer.MIN_VALUE;
    private static final long POLL_NANOS = 100_000;

    private final CommunicatorConfig config;
    private final NcclOptions options;
    private final ncclComm communicator = new ncclComm();
    private BytePointer networkName;
    private boolean abandoned;
    private boolean connected;

    private NcclConnector(CommunicatorConfig config) {
        this.config = config;
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
        return new NcclConnector(config).connect();
    }

    private NcclCommunicator connect() {
        long deadline = System.nanoTime() + config.timeout().toNanos();
        ncclUniqueId id = shareId();
        // A blocking initialisation can not be stopped, so it must not hold the caller.
        boolean done =
                Deadline.run(
                        "jccl-nccl-connect-" + config.groupName() + "-" + config.rank(),
                        () -> initialise(id, deadline),
                        Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
        if (!done) {
            abandon();
            throw timeout();
        }
        id.close();
        return new NcclCommunicator(communicator, config, networkName, supportsFloat8());
    }

    private OperationTimeoutException timeout() {
        return new OperationTimeoutException(
                FailureContext.NONE,
                "ncclCommInitRankConfig did not finish in "
                        + config.timeout()
                        + ": not all "
                        + config.size()
                        + " ranks called it, or they can not reach each other; NCCL_DEBUG=INFO tells"
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
            store.set(ID_KEY, copy);
            return id;
        }
        bytes.put(fetchId(store));
        return id;
    }

    private byte[] fetchId(Store store) {
        try {
            store.await(List.of(ID_KEY), config.timeout());
        } catch (StoreTimeoutException e) {
            throw new OperationTimeoutException(
                    FailureContext.NONE,
                    "rank 0 put no NCCL id into the store in " + config.timeout(),
                    e);
        }
        byte[] id = store.get(ID_KEY);
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

    /** On a thread of its own. */
    private void initialise(ncclUniqueId id, long deadline) {
        CudaRuntime.check(cudart.cudaSetDevice(config.device().index()), "cudaSetDevice");
        try (ncclConfig_t settings = settings()) {
            int code =
                    nccl.ncclCommInitRankConfig(
                            communicator, config.size(), id, config.rank(), settings);
            if (code == nccl.ncclInProgress) {
                code = pollUntil(deadline);
            }
            if (code != nccl.ncclSuccess && !communicator.isNull()) {
                var failure = NcclErrors.of(code, "ncclCommInitRankConfig", communicator);
                nccl.ncclCommAbort(communicator);
                throw code == nccl.ncclInProgress ? timeout() : failure;
            }
            check(code, "ncclCommInitRankConfig");
        }
        synchronized (this) {
            connected = true;
            if (abandoned) {
                nccl.ncclCommAbort(communicator);
            }
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

    private boolean supportsFloat8() {
        int[] major = new int[1];
        CudaRuntime.check(
                cudart.cudaDeviceGetAttribute(
                        major, cudart.cudaDevAttrComputeCapabilityMajor, config.device().index()),
                "cudaDeviceGetAttribute");
        return major[0] >= FLOAT8_CAPABILITY;
    }

    private static void check(int code, String call) {
        if (code != nccl.ncclSuccess) {
            throw NcclErrors.of(code, call, null);
        }
    }
}

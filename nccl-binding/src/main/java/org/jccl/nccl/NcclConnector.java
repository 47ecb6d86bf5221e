package org.jccl.nccl;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.cuda.nccl.ncclConfig_t;
import org.bytedeco.cuda.nccl.ncclUniqueId;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;

/**
 * Forms a communicator: shares the unique id through the store and initialises NCCL with it, or
 * splits another communicator.
 */
final class NcclConnector {

    /** Major compute capability from which on devices reduce float8. */
    private static final int FLOAT8_CAPABILITY = 9;

    private static final String SPLIT = "ncclCommSplit";
    private static final int ID_BYTES = 128;

    /** PyTorch's default. */
    private static final int RANKS_PER_ROOT = 128;

    private static final int UNSET = Integer.MIN_VALUE;
    private static final long POLL_NANOS = 100_000;

    /** NCCL's call that forms a communicator, or begins to. */
    private interface Formation {
        ncclComm begin(ncclConfig_t settings);
    }

    private final CommunicatorConfig config;
    private final NcclOptions options;

    /** What forms it, for messages. */
    private final String call;

    /** Written by the thread that forms it, before that ends. */
    private ncclComm communicator;

    private BytePointer networkName;
    private boolean abandoned;

    private NcclConnector(CommunicatorConfig config, String call) {
        this.config = config;
        this.call = call;
        this.options = options(config);
    }

    static NcclCommunicator connect(CommunicatorConfig config) {
        requireOneRoot(config);
        String key = NcclKeys.COMMUNICATOR;
        return config.join(key, List.of(key), () -> initialise(config, key).connected());
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
                        group.timeout(),
                        group.device(),
                        group.interop(),
                        group.options(),
                        Optional.empty(),
                        List.of());
        NcclConnector connector = pair.join(key, List.of(key), () -> initialise(pair, key));
        return new Pair(handle(connector.communicator, pair), connector.networkName);
    }

    /** The handle of a communicator that was formed with a configuration. */
    static NcclHandle handle(ncclComm communicator, CommunicatorConfig config) {
        boolean blocking =
                options(config).blocks(System.getenv().getOrDefault("NCCL_COMM_BLOCKING", ""));
        return new NcclHandle(
                communicator,
                config.groupName(),
                config.device().index(),
                config.timeout(),
                blocking);
    }

    private static NcclOptions options(CommunicatorConfig config) {
        return config.options(NcclOptions.class).orElseGet(NcclOptions::defaults);
    }

    private static NcclConnector initialise(CommunicatorConfig config, String key) {
        NcclConnector connector = new NcclConnector(config, "ncclCommInitRankConfig");
        long deadline = System.nanoTime() + config.joinTimeout().toNanos();
        ncclUniqueId id = new ncclUniqueId();
        boolean over = true;
        try {
            connector.shareId(id, key);
            over = connector.form(settings -> connector.initialise(id, settings), deadline);
        } catch (JcclException e) {
            connector.freeNetworkName();
            throw e;
        } finally {
            // Otherwise NCCL may still read it.
            if (over) {
                id.close();
            }
        }
        if (!over) {
            throw timeout(connector.call, config.timeout());
        }
        return connector;
    }

    /**
     * Forms a communicator out of another one, on all of whose ranks a split goes on.
     *
     * @param parent to be divided
     * @param parentSize its number of ranks
     * @param color equal on the ranks of the new communicator, and theirs alone
     * @param config of the new communicator
     */
    static NcclCommunicator split(
            NcclHandle parent, int parentSize, int color, CommunicatorConfig config) {
        try {
            return config.join("split", List.of(), () -> splitHere(parent, color, config));
        } catch (OperationTimeoutException e) {
            List<Integer> others =
                    IntStream.range(0, parentSize)
                            .boxed()
                            .filter(rank -> !config.parentRanks().contains(rank))
                            .toList();
            if (others.isEmpty()) {
                throw e;
            }
            throw new OperationTimeoutException(
                    e.context(),
                    e.reason()
                            + "; ranks "
                            + Arrivals.ranks(others)
                            + " of group "
                            + parent.group()
                            + ", which are not in the new one, had to call it too",
                    e);
        }
    }

    private static NcclCommunicator splitHere(
            NcclHandle parent, int color, CommunicatorConfig config) {
        NcclConnector connector = new NcclConnector(config, SPLIT);
        long deadline = System.nanoTime() + config.joinTimeout().toNanos();
        boolean over;
        try {
            // NCCL numbers the ranks in the order of their keys.
            over =
                    connector.form(
                            settings -> divide(parent, color, config.rank(), settings), deadline);
        } catch (JcclException e) {
            connector.freeNetworkName();
            throw e;
        }
        if (!over) {
            // A thread is inside the parent for good.
            throw parent.abort(timeout(SPLIT, config.timeout()));
        }
        return connector.connected();
    }

    /** Takes part in a split without a new communicator. */
    static void declineSplit(NcclHandle parent) {
        Runnable split =
                () -> {
                    CudaRuntime.enter(parent.device());
                    divide(parent, nccl.NCCL_SPLIT_NOCOLOR, 0, null);
                };
        if (!BoundedCall.run("jccl-nccl-split-" + parent.group(), split, parent.timeout())) {
            throw parent.abort(timeout(SPLIT, parent.timeout()));
        }
    }

    /**
     * Takes part in a split.
     *
     * @return the new communicator, or null without a color
     */
    private static ncclComm divide(NcclHandle parent, int color, int key, ncclConfig_t settings) {
        // Not freed if the split fails, nor by the garbage collector: NCCL's job may outlive this
        // thread, and writes the new communicator at its end.
        PointerPointer<ncclComm> child = new PointerPointer<>(Pointer.calloc(1, Long.BYTES));
        try (NcclCalls calls = parent.enter()) {
            calls.split(color, key, child, settings);
        }
        ncclComm made = child.get(ncclComm.class);
        Pointer.free(child);
        return made;
    }

    /**
     * Forms the communicator on a thread of its own: a blocking call can not be stopped, so it must
     * not hold the caller.
     *
     * @return false when the time is over; what comes too late is aborted
     */
    private boolean form(Formation formation, long deadline) {
        boolean done =
                BoundedCall.run(
                        "jccl-nccl-connect-" + config.groupName() + "-" + config.rank(),
                        () -> finish(formation, deadline),
                        Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
        if (!done) {
            abandon();
        }
        return done;
    }

    private NcclCommunicator connected() {
        boolean float8;
        try {
            float8 = supportsFloat8();
        } catch (JcclException e) {
            abandon();
            throw e;
        }
        return new NcclCommunicator(communicator, config, networkName, float8);
    }

    /** After the communicator that would read it was not made. */
    private void freeNetworkName() {
        if (networkName != null) {
            networkName.close();
        }
    }

    private static OperationTimeoutException timeout(String call, Duration timeout) {
        return new OperationTimeoutException(
                FailureContext.NONE,
                call
                        + " did not finish in "
                        + Durations.text(timeout)
                        + ": not all ranks called it, or they can not reach each other;"
                        + " NCCL_DEBUG=INFO tells more");
    }

    private void shareId(ncclUniqueId id, String key) {
        BytePointer bytes = id.internal().capacity(ID_BYTES);
        if (config.size() == 1) {
            NcclErrors.check(nccl.ncclGetUniqueId(id), "ncclGetUniqueId");
            return;
        }
        Store store = config.requireStore("NCCL needs a store to connect ranks");
        if (config.rank() == 0) {
            NcclErrors.check(nccl.ncclGetUniqueId(id), "ncclGetUniqueId");
            byte[] copy = new byte[ID_BYTES];
            bytes.get(copy);
            store.set(key, copy);
            return;
        }
        bytes.put(config.fetch(key, ID_BYTES, "NCCL id", config.joinTimeout()));
    }

    private ncclComm initialise(ncclUniqueId id, ncclConfig_t settings) {
        ncclComm made = new ncclComm();
        int code = nccl.ncclCommInitRankConfig(made, config.size(), id, config.rank(), settings);
        if (code != nccl.ncclSuccess && code != nccl.ncclInProgress) {
            var failure = NcclErrors.of(code, call, made);
            if (!made.isNull()) {
                abort(made);
            }
            throw failure;
        }
        return made;
    }

    /** On a thread of its own. */
    private void finish(Formation formation, long deadline) {
        CudaRuntime.enter(config.device().index());
        ncclComm made;
        try (ncclConfig_t settings = settings()) {
            made = formation.begin(settings);
            awaitReady(made, deadline);
        }
        synchronized (this) {
            communicator = made;
            if (abandoned) {
                abort(made);
            }
        }
    }

    /** A communicator that does not block is there before it can be used. */
    private void awaitReady(ncclComm made, long deadline) {
        int code = nccl.ncclInProgress;
        try (IntPointer state = new IntPointer(1)) {
            while (code == nccl.ncclInProgress && System.nanoTime() - deadline < 0) {
                int asked = nccl.ncclCommGetAsyncError(made, state);
                code = asked == nccl.ncclSuccess ? state.get() : asked;
                if (code == nccl.ncclInProgress) {
                    LockSupport.parkNanos(POLL_NANOS);
                }
            }
        }
        if (code != nccl.ncclSuccess) {
            JcclException failure =
                    code == nccl.ncclInProgress
                            ? timeout(call, config.timeout())
                            : NcclErrors.of(code, call, made);
            abort(made);
            throw failure;
        }
    }

    /** On a thread that has the device, which knows already why. */
    private void abort(ncclComm made) {
        CleanUp.run(
                "group " + config.groupName(),
                () -> NcclErrors.check(nccl.ncclCommAbort(made), "ncclCommAbort"));
    }

    /** Has a communicator that comes too late aborted by the thread that waits for it. */
    private synchronized void abandon() {
        abandoned = true;
        if (communicator != null) {
            BoundedCall.start(
                    "jccl-nccl-abort-" + config.groupName(),
                    () -> {
                        CudaRuntime.enter(config.device().index());
                        abort(communicator);
                    });
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
                .splitShare(sharesAtSplit() ? 1 : UNSET)
                .trafficClass(options.trafficClass().orElse(UNSET))
                .collnetEnable(UNSET)
                .CTAPolicy(UNSET)
                .shrinkShare(UNSET)
                .nvlsCTAs(UNSET)
                .nChannelsPerNetPeer(UNSET)
                .nvlinkCentricSched(UNSET)
                .graphUsageMode(UNSET)
                .numRmaCtx(UNSET)
                .maxP2pPeers(UNSET)
                .graphStreamOrdering(UNSET);
        if (options.networkName().isPresent()) {
            // NCCL reads it later too, so the communicator keeps it.
            networkName = new BytePointer(options.networkName().get());
            settings.netName(networkName);
        }
        return settings;
    }

    /** PyTorch's ranks leave it unset, and all ranks must agree. */
    private boolean sharesAtSplit() {
        return options.splitShare() && config.interop() == Interop.NONE;
    }

    private boolean supportsFloat8() {
        int[] major = new int[1];
        CudaErrors.check(
                cudart.cudaDeviceGetAttribute(
                        major, cudart.cudaDevAttrComputeCapabilityMajor, config.device().index()),
                "cudaDeviceGetAttribute");
        return major[0] >= FLOAT8_CAPABILITY;
    }
}

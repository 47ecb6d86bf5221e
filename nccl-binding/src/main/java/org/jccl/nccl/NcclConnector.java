package org.jccl.nccl;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.spi.Arrivals;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;
import org.jccl.spi.Polling;

/**
 * Forms a communicator: shares the unique id through the store and initialises NCCL with it, or
 * splits another communicator.
 */
final class NcclConnector {

    /** Major compute capability from which on devices reduce float8. */
    private static final int FLOAT8_CAPABILITY = 9;

    private static final String SPLIT = "ncclCommSplit";

    /** The interval of questions to the store. */
    private static final long ASK_NANOS = 1_000_000_000;

    /** The interval of looks at the state of the communicator that is split. */
    private static final long LOOK_NANOS = 50_000_000;

    /** NCCL's call that forms a communicator, or begins to. */
    private interface Formation {
        long begin(long settings);
    }

    private final CommunicatorConfig config;
    private final NcclOptions options;

    /** What forms it, for messages. */
    private final String call;

    private final NcclConfig settings;

    /** Written by the thread that forms it, before that ends. */
    private long communicator;

    private boolean abandoned;

    private NcclConnector(CommunicatorConfig config, String call) {
        this.config = config;
        this.call = call;
        this.options = config.options(NcclOptions.class).orElseGet(NcclOptions::defaults);
        // PyTorch's ranks leave sharing unset, and all ranks must agree.
        boolean splitShare = options.splitShare() && config.interop() == Interop.NONE;
        this.settings = new NcclConfig(options, splitShare, config.groupName());
    }

    static NcclCommunicator connect(CommunicatorConfig config) {
        NcclIds ids = NcclIds.ofGroup(config);
        return config.join(ids.name(), ids.keys(), () -> initialise(config, ids).connected());
    }

    /** Forms the communicator of two ranks of a group, together with the peer. */
    static NcclHandle connectPair(CommunicatorConfig group, int peer) {
        String key = NcclKeys.pair(group.rank(), peer);
        int rank = group.rank() < peer ? 0 : 1;
        CommunicatorConfig pair =
                apart(group, group.groupName() + " " + key, rank, 2, group.store());
        NcclIds id = NcclIds.ofPair(pair, group.rank(), key);
        return pair.join(key, id.keys(), () -> initialise(pair, id)).handle();
    }

    private static NcclConnector initialise(CommunicatorConfig config, NcclIds ids) {
        NcclConnector connector = new NcclConnector(config, ids.call());
        long deadline = System.nanoTime() + config.joinTimeout().toNanos();
        boolean over;
        try {
            byte[] shared = ids.share();
            over =
                    connector.form(
                            settings -> connector.initialise(shared, settings),
                            () -> isHopeless(ids),
                            ASK_NANOS,
                            deadline);
        } catch (JcclException | OutOfMemoryError e) {
            ids.report(e);
            connector.letOthersRead();
            connector.settings.close();
            throw e;
        }
        if (!over) {
            throw failure(connector, ids);
        }
        return connector;
    }

    private static JcclException failure(NcclConnector connector, NcclIds ids) {
        Optional<JcclException> obstacle = ids.obstacle();
        if (obstacle.isEmpty()) {
            return timeout(connector.call, connector.config.joinTimeout());
        }
        connector.letOthersRead();
        return obstacle.get();
    }

    /**
     * Gives the other ranks time to read the reason before this process, which may serve the store,
     * ends.
     */
    private void letOthersRead() {
        if (config.rank() == 0 && config.size() > 1) {
            Polling.sleep(Duration.ofNanos(2 * ASK_NANOS));
        }
    }

    /** Returns whether the communicator can no longer be formed, according to the store. */
    private static boolean isHopeless(NcclIds ids) {
        try {
            return ids.obstacle().isPresent();
        } catch (JcclException e) {
            // The server of the store is lost, or the group closed the connection because a member
            // is lost. The failure is thrown again when NCCL's thread, which reads the settings,
            // has ended.
            return true;
        }
    }

    /**
     * Forms a communicator by a split of another one, in which all of its ranks take part.
     *
     * @param parent to be divided
     * @param parentSize its number of ranks
     * @param color equal on the ranks of the new communicator, and theirs alone
     * @param config of the new communicator
     */
    static NcclCommunicator split(
            NcclHandle parent, int parentSize, int color, CommunicatorConfig config) {
        try {
            return config.join(
                    "split", List.of(), () -> splitHere(parent, color, config).connected());
        } catch (OperationTimeoutException e) {
            List<Integer> others =
                    IntStream.range(0, parentSize)
                            .boxed()
                            .filter(rank -> !config.parentRanks().contains(rank))
                            .toList();
            if (others.isEmpty()) {
                throw e;
            }
            throw OperationTimeoutException.ofCall(
                    e.context(),
                    e.reason()
                            + "; ranks "
                            + Arrivals.ranks(others)
                            + " of group "
                            + parent.group()
                            + ", which are not in the new group, must call it too",
                    e);
        }
    }

    /**
     * After the deadline the parent is aborted, because a thread or a job may never leave it. If
     * the parent fails meanwhile, the split ends with it.
     */
    private static NcclConnector splitHere(
            NcclHandle parent, int color, CommunicatorConfig config) {
        NcclConnector connector = new NcclConnector(config, SPLIT);
        long deadline = System.nanoTime() + config.joinTimeout().toNanos();
        boolean over;
        try {
            // NCCL numbers the ranks in the order of their keys. The settings stay open if the
            // split fails: NCCL's job may outlive it, and reads them until its end.
            over =
                    connector.form(
                            settings -> divide(parent, color, config.rank(), settings),
                            () -> !parent.isOpen(),
                            LOOK_NANOS,
                            deadline);
        } catch (OperationTimeoutException e) {
            throw parent.giveUp(e);
        }
        if (!over) {
            throw parent.giveUp(timeout(SPLIT, config.joinTimeout()));
        }
        return connector;
    }

    /**
     * Takes part in a split without becoming a member of a new group. NCCL accesses a null pointer
     * if a split without a color fails, for instance because a peer is lost. So this rank uses a
     * unique color, and closes the resulting communicator.
     *
     * @param color of this rank alone
     * @param alone of a communicator of this rank only
     */
    static void declineSplit(NcclHandle parent, int color, CommunicatorConfig alone) {
        splitHere(parent, color, alone).handle().close();
    }

    /** Returns the configuration of a communicator of one rank alone. */
    static CommunicatorConfig alone(CommunicatorConfig group) {
        return apart(group, group.groupName() + " alone", 0, 1, Optional.empty());
    }

    /** Returns the configuration of a communicator for a few ranks of a group. */
    private static CommunicatorConfig apart(
            CommunicatorConfig group, String name, int rank, int size, Optional<Store> store) {
        return new CommunicatorConfig(
                name,
                rank,
                size,
                store,
                group.timeout(),
                group.timeout(),
                group.device(),
                group.interop(),
                group.interopName(),
                group.options(),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }

    /** Takes part in a split, and returns the new communicator. */
    private static long divide(NcclHandle parent, int color, int key, long settings) {
        // Not closed if the split fails: NCCL's job may outlive this thread, and writes the new
        // communicator at its end.
        Cell child = new Cell();
        try (NcclCalls calls = parent.enter()) {
            calls.split(color, key, child, settings);
        }
        long made = child.get();
        child.close();
        return made;
    }

    /**
     * Forms the communicator on a separate thread, because a blocking call cannot be stopped and
     * must not block the caller.
     *
     * @param hopeless returns true if the others will not arrive
     * @param interval how often that is checked, in nanoseconds
     * @return false after the deadline or if the others will not arrive; a communicator that is
     *     formed later is aborted
     */
    private boolean form(
            Formation formation, BooleanSupplier hopeless, long interval, long deadline) {
        BoundedCall call =
                BoundedCall.start(
                        "jccl-nccl-connect-" + config.groupName() + "-" + config.rank(),
                        () -> finish(formation, deadline));
        long left = deadline - System.nanoTime();
        while (!call.await(Duration.ofNanos(Math.max(1, Math.min(left, interval))))) {
            left = deadline - System.nanoTime();
            if (left <= 0 || hopeless.getAsBoolean()) {
                abandon();
                return false;
            }
        }
        return true;
    }

    private NcclCommunicator connected() {
        boolean float8;
        try {
            float8 = supportsFloat8();
        } catch (JcclException e) {
            abandon();
            throw e;
        }
        return new NcclCommunicator(handle(), config, float8);
    }

    private NcclHandle handle() {
        String variable = System.getenv().getOrDefault("NCCL_COMM_BLOCKING", "");
        return new NcclHandle(
                communicator,
                settings,
                config.groupName(),
                config.device().index(),
                config.timeout(),
                options.blocks(variable));
    }

    private static OperationTimeoutException timeout(String call, Duration timeout) {
        return OperationTimeoutException.ofCall(
                FailureContext.NONE,
                call
                        + " did not finish in "
                        + Durations.rounded(timeout)
                        + ": not all ranks called it, or they cannot reach each other;"
                        + " set NCCL_DEBUG=INFO for details",
                null);
    }

    private long initialise(byte[] ids, long settings) {
        try (Cell made = new Cell()) {
            int code =
                    NcclNative.commInit(
                            made.address(),
                            config.size(),
                            ids,
                            ids.length / NcclIds.ID_BYTES,
                            config.rank(),
                            settings);
            if (code != NcclNative.SUCCESS && code != NcclNative.IN_PROGRESS) {
                var failure = NcclErrors.of(code, call, made.get());
                if (made.get() != 0) {
                    abort(made.get());
                }
                throw failure;
            }
            return made.get();
        }
    }

    /** On a thread of its own. */
    private void finish(Formation formation, long deadline) {
        CudaRuntime.enter(config.device().index());
        long made = formation.begin(settings.address());
        awaitReady(made, deadline);
        synchronized (this) {
            communicator = made;
            if (abandoned) {
                abort(made);
                settings.close();
            }
        }
    }

    /** Waits until a non-blocking communicator, which exists before that, can be used. */
    private void awaitReady(long made, long deadline) {
        int code = NcclNative.commAsyncError(made);
        for (long polls = 0;
                code == NcclNative.IN_PROGRESS && System.nanoTime() - deadline < 0;
                polls++) {
            Polling.pause(polls, 0);
            code = NcclNative.commAsyncError(made);
        }
        if (code != NcclNative.SUCCESS) {
            JcclException failure =
                    code == NcclNative.IN_PROGRESS
                            ? timeout(call, config.joinTimeout())
                            : NcclErrors.of(code, call, made);
            abort(made);
            throw failure;
        }
    }

    /** On a thread that has the device, which knows already why. */
    private void abort(long made) {
        CleanUp.run(
                "group " + config.groupName(),
                () -> NcclErrors.check(NcclNative.commAbort(made), "ncclCommAbort"));
    }

    /** Makes the thread that forms the communicator abort it when it is formed too late. */
    private synchronized void abandon() {
        abandoned = true;
        if (communicator != 0) {
            BoundedCall.start(
                    "jccl-nccl-abort-" + config.groupName(),
                    () -> {
                        CudaRuntime.enter(config.device().index());
                        abort(communicator);
                        settings.close();
                    });
        }
    }

    private boolean supportsFloat8() {
        if (!NcclLibraries.get().hasFloat8()) {
            return false;
        }
        long major =
                CudaErrors.value(
                        NcclNative.cudaComputeCapabilityMajor(config.device().index()),
                        "cudaDeviceGetAttribute");
        return major >= FLOAT8_CAPABILITY;
    }
}

package org.jccl.nccl;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
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

    /** Between two looks at the key of the other backend of PyTorch. */
    private static final Duration LOOK_FOR_ID = Duration.ofMillis(200);

    /** Where rank 0 would put its id if its peers had the other backend of PyTorch. */
    private static final byte[] NO_ID =
            "rank 0 takes its peers for ranks of PyTorch's other NCCL backend"
                    .getBytes(StandardCharsets.US_ASCII);

    private static final String SPLIT = "ncclCommSplit";
    private static final int ID_BYTES = 128;

    /** PyTorch's default. */
    private static final int RANKS_PER_ROOT = 128;

    private static final long POLL_NANOS = 100_000;

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
        this.settings = new NcclConfig(options, splitShare);
    }

    static NcclCommunicator connect(CommunicatorConfig config) {
        requireOneRoot(config);
        String key = NcclKeys.communicator(config);
        return config.join(
                key,
                List.of(key),
                () -> initialise(config, key, NcclKeys.misunderstood(config)).connected());
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

    /** Forms the communicator of two ranks of a group, with the peer that does so too. */
    static NcclHandle connectPair(CommunicatorConfig group, int peer) {
        String key = NcclKeys.pair(group.rank(), peer);
        int rank = group.rank() < peer ? 0 : 1;
        CommunicatorConfig pair =
                apart(group, group.groupName() + " " + key, rank, 2, group.store());
        return pair.join(key, List.of(key), () -> initialise(pair, key, Optional.empty())).handle();
    }

    /** Ranks that use the second key can not form a communicator with this one. */
    private static NcclConnector initialise(
            CommunicatorConfig config, String key, Optional<String> misunderstood) {
        NcclConnector connector = new NcclConnector(config, "ncclCommInitRankConfig");
        long deadline = System.nanoTime() + config.joinTimeout().toNanos();
        boolean over;
        try {
            byte[] id = connector.shareId(key, misunderstood);
            over = connector.form(settings -> connector.initialise(id, settings), deadline);
        } catch (JcclException e) {
            connector.settings.close();
            throw e;
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

    /** If the time is over, the parent is aborted: a thread or a job is inside it for good. */
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
                            settings -> divide(parent, color, config.rank(), settings), deadline);
        } catch (OperationTimeoutException e) {
            throw parent.abort(e);
        }
        if (!over) {
            throw parent.abort(timeout(SPLIT, config.timeout()));
        }
        return connector;
    }

    /**
     * Takes part in a split without becoming a member of a new group. NCCL accesses a null pointer
     * if a split without a color fails, for instance because a peer is lost. So this rank uses a
     * color of its own, and closes the communicator that it gets.
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
                List.of());
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
        return new OperationTimeoutException(
                FailureContext.NONE,
                call
                        + " did not finish in "
                        + Durations.text(timeout)
                        + ": not all ranks called it, or they can not reach each other;"
                        + " NCCL_DEBUG=INFO tells more");
    }

    private byte[] shareId(String key, Optional<String> misunderstood) {
        if (config.size() == 1) {
            return uniqueId();
        }
        Store store = config.requireStore("NCCL needs a store to connect ranks");
        if (config.rank() != 0) {
            if (misunderstood.isPresent()) {
                awaitId(store, key, misunderstood.get());
                return store.get(key);
            }
            return config.fetch(key, ID_BYTES, "NCCL id", config.joinTimeout());
        }
        byte[] id = uniqueId();
        // A rank that reads it there fails at once, by its length.
        misunderstood.ifPresent(other -> store.set(other, NO_ID));
        store.set(key, id);
        return id;
    }

    /** Waits for the id of rank 0, which must use the same key as this rank. */
    private void awaitId(Store store, String key, String misunderstood) {
        long deadline = System.nanoTime() + config.joinTimeout().toNanos();
        while (!hasId(store, key)) {
            if (hasId(store, misunderstood)) {
                throw otherBackend(misunderstood);
            }
            if (System.nanoTime() - deadline >= 0) {
                throw new OperationTimeoutException(
                        FailureContext.NONE,
                        "rank 0 put no NCCL id into the store in %s, neither as %s under the key %s nor as %s under %s"
                                .formatted(
                                        Durations.text(config.timeout()),
                                        spoken(NcclKeys.isNewer(config.interop())),
                                        key,
                                        spoken(!NcclKeys.isNewer(config.interop())),
                                        misunderstood));
            }
            awaitKey(store, key);
        }
    }

    /** Waits a moment for a key, or for another value of it. */
    private static void awaitKey(Store store, String key) {
        if (store.check(List.of(key))) {
            LockSupport.parkNanos(LOOK_FOR_ID.toNanos());
            return;
        }
        try {
            store.await(List.of(key), LOOK_FOR_ID);
        } catch (StoreTimeoutException e) {
            // The caller looks at the other key, and at the time.
            return;
        }
    }

    private static String spoken(boolean newer) {
        return newer
                ? "PyTorch's NCCL backend from 2.15 on (nccl2)"
                : "PyTorch's NCCL backend until 2.14 (nccl-legacy)";
    }

    private static boolean hasId(Store store, String key) {
        return store.check(List.of(key)) && store.get(key).length == ID_BYTES;
    }

    private BootstrapException otherBackend(String found) {
        boolean newer = NcclKeys.isNewer(config.interop());
        return new BootstrapException(
                FailureContext.NONE,
                "rank 0 speaks as %s: its id lies under the key %s; this rank speaks as %s, which has it under %s. Give all Java ranks Interop.torch(version) with the version of PyTorch that runs; if TORCH_DIST_USE_NCCL2 is set, TORCH_2_14_OPT_IN for 1 in 2.14, and TORCH for 0 from 2.15 on"
                        .formatted(
                                spoken(!newer),
                                found,
                                spoken(newer),
                                NcclKeys.communicator(config)));
    }

    private static byte[] uniqueId() {
        byte[] id = new byte[ID_BYTES];
        NcclErrors.check(NcclNative.getUniqueId(id), "ncclGetUniqueId");
        return id;
    }

    private long initialise(byte[] id, long settings) {
        try (Cell made = new Cell()) {
            int code =
                    NcclNative.commInit(made.address(), config.size(), id, config.rank(), settings);
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

    /** A communicator that does not block is there before it can be used. */
    private void awaitReady(long made, long deadline) {
        int code = NcclNative.IN_PROGRESS;
        while (code == NcclNative.IN_PROGRESS && System.nanoTime() - deadline < 0) {
            code = NcclNative.commAsyncError(made);
            if (code == NcclNative.IN_PROGRESS) {
                LockSupport.parkNanos(POLL_NANOS);
            }
        }
        if (code != NcclNative.SUCCESS) {
            JcclException failure =
                    code == NcclNative.IN_PROGRESS
                            ? timeout(call, config.timeout())
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

    /** Has a communicator that comes too late aborted by the thread that waits for it. */
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
        long major =
                CudaErrors.value(
                        NcclNative.cudaComputeCapabilityMajor(config.device().index()),
                        "cudaDeviceGetAttribute");
        return major >= FLOAT8_CAPABILITY;
    }
}

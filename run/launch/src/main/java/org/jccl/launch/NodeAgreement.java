package org.jccl.launch;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.bootstrap.JobEnd;
import org.jccl.internal.checks.Counted;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CleanUp;
import org.jccl.spi.Deadline;
import org.jccl.spi.WaitLog;
import org.jccl.store.PrefixStore;

/**
 * Coordinates the launchers of a job's nodes, so that they start, fail and end an attempt together.
 * They use their own keys in the job's store.
 */
final class NodeAgreement implements OtherNodes {

    /** Keys that belong to launchers, not to ranks. */
    private static final String PREFIX = "jccl/run";

    private static final Logger LOGGER = System.getLogger(ProcessLauncher.class.getName());
    private static final Duration JOIN_LIMIT = Duration.ofMinutes(5);
    private static final Duration STOP_LIMIT = Duration.ofSeconds(30);

    /** For a launcher whose process ends, and which must not wait for a lost store. */
    private static final Duration FAREWELL_LIMIT = Duration.ofSeconds(2);

    private static final String ALIVE = "alive";
    private static final String FAILED = "failed";
    private static final String GIVEN_UP = "given up";

    /**
     * The result of an attempt.
     *
     * @param failure why it failed, if it did
     * @param restart whether every node starts the next attempt now
     */
    record Conclusion(Optional<LaunchException> failure, boolean restart) {}

    private final Store jobStore;
    private final Store store;
    private final LaunchSettings settings;
    private final int attempt;

    NodeAgreement(Store jobStore, LaunchSettings settings, int attempt) {
        this.jobStore = jobStore;
        this.store = new PrefixStore(PREFIX + "/" + settings.runId() + "/" + attempt, jobStore);
        this.settings = settings;
        this.attempt = attempt;
    }

    /**
     * Waits until the launchers of all nodes have arrived. If lost ranks are replaced, a lost
     * launcher may be replaced too; its ranks then join the others.
     *
     * @throws BootstrapException if a launcher does not arrive, or their options contradict each
     *     other
     */
    void enter(Deadline limit) {
        int node = settings.nodeRank();
        byte[] own = StoredText.bytes(UUID.randomUUID().toString());
        if (!Arrays.equals(store.compareSet("claims/" + node, new byte[0], own), own)) {
            if (!replacesRanks()) {
                throw mismatch(
                        "two launchers of run '%s' both claim to be node %d",
                        settings.runId(), node);
            }
            LOGGER.log(
                    Level.WARNING,
                    "another launcher of run ''{0}'' was node {1} before; this launcher's ranks"
                            + " replace its remaining ranks, if any",
                    settings.runId(),
                    node);
        }
        String job =
                "%s on each of %s, %s"
                        .formatted(
                                settings.ranksByRole(),
                                Counted.text(settings.nodes(), "node"),
                                Counted.text(settings.maxRestarts(), "restart"));
        store.set(key("enter", node), StoredText.bytes(job));
        try {
            WaitLog.during(
                    "node " + node,
                    this::missingNodes,
                    () -> {
                        store.await(keys("enter"), limit.atMost(JOIN_LIMIT));
                        return null;
                    });
        } catch (StoreTimeoutException e) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "node "
                            + node
                            + ": not every node of run '"
                            + settings.runId()
                            + "' arrived: "
                            + e.getMessage()
                            + ". Start 'jccl run' with the same run id, --nnodes and master on each",
                    e);
        }
        for (int other = 0; other < settings.nodes(); other++) {
            String said = StoredText.text(store.get(key("enter", other)));
            if (!said.equals(job)) {
                throw mismatch(
                        "node %d was started for %s; node %d for %s", node, job, other, said);
            }
        }
    }

    /** Returns the line about launchers that have not arrived, or empty if all have. */
    Optional<String> missingNodes() {
        List<Integer> missing =
                IntStream.range(0, settings.nodes())
                        .filter(node -> !store.check(List.of(key("enter", node))))
                        .boxed()
                        .toList();
        return missing.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        "the launchers of nodes %s of %s have not arrived; each needs its own --node-rank and the same --master-addr"
                                .formatted(missing, settings.nodes()));
    }

    private boolean replacesRanks() {
        return settings.lostRanks() == LostRanks.REPLACE;
    }

    private static BootstrapException mismatch(String format, Object... arguments) {
        return new BootstrapException(
                FailureContext.NONE,
                String.format(format, arguments)
                        + ": give every node the same --nproc-per-node, --role, --nnodes and --max-restarts, and"
                        + " its own --node-rank");
    }

    @Override
    public Optional<LaunchException> reasonToStop() {
        if (settings.nodes() == 1) {
            return Optional.empty();
        }
        if (replacesRanks()) {
            store.set(ALIVE, StoredText.bytes(settings.nodeRank() + " " + System.nanoTime()));
        }
        return failure().map(LaunchException::onAnotherNode);
    }

    /**
     * Without this, the others would wait for this launcher. They do not start again, because it
     * would not arrive. A job that replaces ranks continues without it.
     */
    @Override
    public void launcherEnds() {
        if (settings.nodes() == 1 || replacesRanks()) {
            return;
        }
        byte[] why =
                StoredText.bytes("node " + settings.nodeRank() + ": its launcher was told to end");
        CleanUp.run(
                "the report that this launcher ends",
                () ->
                        BoundedCall.run(
                                "jccl-farewell",
                                () -> {
                                    store.set(GIVEN_UP, why);
                                    store.compareSet(FAILED, new byte[0], why);
                                    store.set(key("leave", settings.nodeRank()), why);
                                    store.set(key("goodbye", settings.nodeRank()), why);
                                },
                                FAREWELL_LIMIT));
    }

    @Override
    public void rankHasEnded() {
        JobEnd.tell(jobStore);
    }

    @Override
    public boolean hasRankEnded() {
        return JobEnd.isTold(jobStore);
    }

    /** Returns the report of the first node that failed, possibly this one. */
    private Optional<String> failure() {
        return StoredText.find(store, FAILED);
    }

    /**
     * Reports to the other nodes how the ranks of this node ended, and waits for theirs.
     *
     * @param own why this node failed, or empty
     * @return why the job failed, and whether all nodes start it again
     */
    Conclusion conclude(Optional<LaunchException> own, Deadline limit) {
        if (own.flatMap(LaunchException::lostStore).isPresent()) {
            // Another call to the lost store would take as long again.
            return new Conclusion(own, false);
        }
        try {
            own.ifPresent(failure -> report(failure, limit));
            boolean allStopped = leave(own.isPresent(), limit);
            Optional<LaunchException> failure =
                    own.or(() -> failure().map(LaunchException::onAnotherNode));
            boolean restart =
                    failure.isPresent()
                            && allStopped
                            && attempt < settings.restartsOfAll()
                            && !store.check(List.of(GIVEN_UP));
            if (!allStopped) {
                // A node that stops later finds all nodes present, and would restart without this
                // one.
                store.set(
                        GIVEN_UP,
                        StoredText.bytes("node " + settings.nodeRank() + " stopped waiting"));
            }
            if (!restart) {
                sayGoodbye();
            } else if (settings.nodeRank() == 0) {
                forgetRanksKeys();
            }
            return new Conclusion(failure, restart);
        } catch (StoreException e) {
            return new Conclusion(
                    own.or(() -> Optional.of(LaunchException.ofLostStore(settings, e))), false);
        }
    }

    /** Returns the last report of a launcher with ranks. Each report has a different text. */
    private Optional<String> lastReport() {
        return StoredText.find(store, ALIVE);
    }

    private void report(LaunchException failure, Deadline limit) {
        String why = failure.getMessage().lines().findFirst().orElse("");
        byte[] said = StoredText.bytes("node " + settings.nodeRank() + ": " + why);
        boolean first = Arrays.equals(store.compareSet(FAILED, new byte[0], said), said);
        // A failed rank may succeed next time, unless the job's time is over.
        if (first && (!failure.mayPass() || limit.hasPassed())) {
            store.set(GIVEN_UP, said);
        }
    }

    /**
     * Waits until every node has stopped its ranks. After a failure it waits for a short time only,
     * because a node may be lost. Otherwise it waits until the job's time is over, because some
     * nodes may have more work.
     *
     * @throws StoreException if the store is lost
     */
    private boolean leave(boolean failed, Deadline limit) {
        store.set(key("leave", settings.nodeRank()), StoredText.bytes(failed ? "failed" : "done"));
        Deadline end = failed ? Deadline.after(limit.atMost(STOP_LIMIT)) : limit;
        while (true) {
            Optional<String> before = lastReport();
            try {
                store.await(keys("leave"), end.atMost(STOP_LIMIT));
                return true;
            } catch (StoreTimeoutException e) {
                // Lost launchers do not fail a job that replaces ranks, and may never be replaced.
                if (end.hasPassed() || replacesRanks() && lastReport().equals(before)) {
                    LOGGER.log(Level.WARNING, "not every node has stopped: {0}", e.getMessage());
                    return false;
                }
                // If the host of the store is lost, this call fails too, which ends the wait.
                failure();
                LOGGER.log(Level.INFO, "waiting for the other nodes: {0}", e.getMessage());
            }
        }
    }

    /**
     * Makes the node that serves the store wait until the others no longer need it. In the store of
     * a service, the last node deletes the keys of the job.
     */
    private void sayGoodbye() {
        store.set(key("goodbye", settings.nodeRank()), StoredText.bytes("attempt " + attempt));
        List<String> expected =
                IntStream.range(0, settings.nodes())
                        .filter(node -> store.check(List.of(key("leave", node))))
                        .mapToObj(node -> key("goodbye", node))
                        .toList();
        if (settings.service().isPresent() && store.check(expected)) {
            jobStore.listKeys().forEach(jobStore::deleteKey);
        } else if (settings.servesStore()) {
            try {
                store.await(expected, STOP_LIMIT);
            } catch (StoreException e) {
                LOGGER.log(Level.WARNING, "closing the job''s store early: {0}", e.getMessage());
            }
        }
    }

    /** Deletes the ranks' keys, which the ranks of the next attempt must not find. */
    private void forgetRanksKeys() {
        for (String key : jobStore.listKeys()) {
            if (!key.startsWith(PREFIX)) {
                jobStore.deleteKey(key);
            }
        }
    }

    private List<String> keys(String step) {
        return IntStream.range(0, settings.nodes()).mapToObj(node -> key(step, node)).toList();
    }

    private static String key(String step, int node) {
        return step + "/node " + node;
    }
}

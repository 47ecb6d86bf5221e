package org.jccl.launch;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jccl.JcclException.Category;
import org.jccl.Store;
import org.jccl.internal.checks.Counted;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.launch.ElasticRecords.Ended;
import org.jccl.launch.ElasticRecords.Joined;
import org.jccl.launch.ElasticRecords.Round;
import org.jccl.spi.Durations;
import org.jccl.store.TcpStore;

/**
 * Decides when a round of an elastic job begins, which launchers take part, and why it ends. It is
 * a thread of the launcher that serves the store, so the launchers need not elect a coordinator. If
 * that launcher is lost, its store is lost too, and the next launcher that serves one starts again.
 */
final class ElasticCoordinator implements AutoCloseable {

    private static final Logger LOGGER = System.getLogger(ProcessLauncher.class.getName());
    private static final Duration POLL = Duration.ofMillis(100);

    /** How long the coordinator collects failures of other nodes after the first report. */
    private static final Duration FAILURES_TOGETHER = Duration.ofSeconds(1);

    /** How long the other launchers may take to read that the job has ended. */
    private static final Duration GOODBYE_TIMEOUT = Duration.ofSeconds(30);

    /** A launcher that has joined. */
    private static final class Node {
        final int number;
        final Joined joined;
        long beats;
        long heard = System.nanoTime();

        /** Whether its process received a request to end. */
        boolean left;

        /** The last round in which it took part. */
        int attempt = -1;

        Node(int number, Joined joined) {
            this.number = number;
            this.joined = joined;
        }

        boolean isSilent(Duration limit) {
            return System.nanoTime() - heard > limit.toNanos();
        }

        @Override
        public String toString() {
            return joined.host() + " (launcher " + number + ")";
        }
    }

    private final TcpStore client;
    private final Store store;
    private final ElasticNodes nodes;
    private final ElasticStore served;
    private final int maxRestarts;
    private final String job;
    private final Thread thread;
    private final Map<Integer, Node> joined = new TreeMap<>();
    private final Set<Integer> refused = new HashSet<>();
    private int attempt = -1;
    private int restarts;

    /** The last round, running or not. */
    private Optional<Round> round = Optional.empty();

    private boolean running;
    private TimeLimit joining;
    private Optional<TimeLimit> lastCall = Optional.empty();
    private Optional<TimeLimit> otherFailures = Optional.empty();
    private TimeLimit otherCodes;
    private volatile boolean closed;

    ElasticCoordinator(
            ElasticStore served, ElasticNodes nodes, String run, String job, int maxRestarts) {
        this.client = served.client().duplicate(served.client().timeout());
        this.store = ElasticRecords.of(client, run);
        this.nodes = nodes;
        this.served = served;
        this.maxRestarts = maxRestarts;
        this.job = job;
        this.joining = TimeLimit.in(nodes.joinTimeout());
        this.thread = new Thread(this::run, "jccl-coordinator");
        thread.setDaemon(true);
    }

    void start() {
        store.set(ElasticRecords.COORDINATOR, ElasticRecords.bytes(job));
        thread.start();
    }

    private void run() {
        try {
            while (!closed && !isEnded()) {
                listen();
                if (running) {
                    watch(round.orElseThrow());
                } else {
                    gather();
                }
                TimeUnit.NANOSECONDS.sleep(POLL.toNanos());
            }
        } catch (InterruptedException | RuntimeException | Error e) {
            if (!closed) {
                LOGGER.log(Level.ERROR, "the job's coordinator has failed", e);
                // Launchers that lose the store look for another one, and stop their ranks.
                served.abandon();
            }
        }
    }

    private boolean isEnded() {
        return store.check(List.of(ElasticRecords.END));
    }

    /** Reads which launchers have joined, and which are alive. */
    private void listen() {
        long tickets = store.add(ElasticRecords.TICKETS, 0);
        for (int number = 1; number <= tickets; number++) {
            String key = ElasticRecords.key("join", number);
            // A launcher may be lost between its ticket and its record.
            if (!joined.containsKey(number)
                    && !refused.contains(number)
                    && store.check(List.of(key))) {
                admit(number, Joined.decode(store.get(key)));
            }
        }
        for (Node node : joined.values()) {
            long beats = store.add(ElasticRecords.key("beat", node.number), 0);
            if (beats != node.beats) {
                node.beats = beats;
                node.heard = System.nanoTime();
            }
            node.left = node.left || store.check(List.of(ElasticRecords.key("left", node.number)));
        }
    }

    private void admit(int number, Joined launcher) {
        if (!launcher.job().equals(job)) {
            refused.add(number);
            store.set(
                    ElasticRecords.key("refused", number),
                    ElasticRecords.bytes(
                            "this launcher was started for "
                                    + launcher.job()
                                    + "; the one that serves the job's store for "
                                    + job
                                    + ": give every launcher the same --nproc-per-node, --role,"
                                    + " --nnodes and --max-restarts"));
            return;
        }
        Node node = new Node(number, launcher);
        joined.put(number, node);
        attempt = Math.max(attempt, launcher.attempt() - 1);
        restarts = Math.max(restarts, launcher.restarts());
        LOGGER.log(Level.INFO, "{0} has joined", node);
    }

    private List<Node> alive() {
        return joined.values().stream()
                .filter(node -> !node.left && !node.isSilent(nodes.silence()))
                .toList();
    }

    /** A launcher is ready if none of its ranks is left from its last round. */
    private boolean isReady(Node node) {
        return node.attempt < 0
                || store.check(List.of(ElasticRecords.key("stopped", node.attempt, node.number)));
    }

    private void gather() {
        List<Node> alive = alive();
        List<Node> ready = alive.stream().filter(this::isReady).limit(nodes.max()).toList();
        if (restarts > maxRestarts) {
            end(
                    new Ended(
                            1,
                            true,
                            "the job was started again "
                                    + Counted.text(maxRestarts, "time")
                                    + " already"));
        } else if (ready.size() < nodes.min()) {
            lastCall = Optional.empty();
            if (joining.isOver()) {
                end(
                        new Ended(
                                1,
                                true,
                                ready.size()
                                        + " of at least "
                                        + Counted.text(nodes.min(), "node")
                                        + " came within "
                                        + Durations.text(nodes.joinTimeout())
                                        + ": "
                                        + ready));
            }
        } else {
            if (lastCall.isEmpty()) {
                lastCall = Optional.of(TimeLimit.in(nodes.lastCall()));
            }
            // A launcher that is about to stop its ranks will become ready.
            boolean allReady = alive.stream().allMatch(this::isReady);
            if (ready.size() == nodes.max() || allReady && lastCall.get().isOver()) {
                begin(ready);
            }
        }
    }

    private void begin(List<Node> ready) {
        if (served.isPreceded(nodes)) {
            LOGGER.log(
                    Level.INFO, "another launcher serves the job at an endpoint before this one");
            closed = true;
            served.abandon();
            return;
        }
        int before = (int) store.add(ElasticRecords.ROUNDS, 0);
        attempt++;
        Round next = new Round(attempt, restarts, ready.stream().map(node -> node.number).toList());
        store.set(ElasticRecords.key("round", attempt + 1), next.encode());
        store.add(ElasticRecords.ROUNDS, attempt + 1L - before);
        LOGGER.log(
                Level.INFO,
                "round {0}, after {1}: {2}",
                attempt,
                Counted.text(restarts, "failure"),
                ready);
        ready.forEach(node -> node.attempt = attempt);
        round = Optional.of(next);
        running = true;
        otherFailures = Optional.empty();
    }

    private void watch(Round current) {
        List<String> failures = new ArrayList<>();
        Optional<Ended> first = Optional.empty();
        List<Ended> reports = new ArrayList<>();
        int done = 0;
        for (int number : current.nodes()) {
            Optional<Ended> ended = ended(current, number);
            if (ended.filter(Ended::well).isPresent()) {
                done++;
            } else if (ended.isPresent()) {
                first = first.or(() -> ended);
                reports.add(ended.get());
                failures.add(joined.get(number) + ": " + ended.get().why());
            } else if (joined.get(number).left) {
                first = first.or(() -> Optional.of(new Ended(1, false, "left")));
                failures.add(joined.get(number) + " received a request to stop");
            } else if (joined.get(number).isSilent(nodes.silence())) {
                String why =
                        "said nothing for "
                                + Durations.text(nodes.silence())
                                + ": its process or host is gone";
                first = first.or(() -> Optional.of(new Ended(1, false, why)));
                failures.add(joined.get(number) + " " + why);
            }
        }
        if (done == current.nodes().size()) {
            over(current, "the job is done");
            end(Ended.WELL);
        } else if (first.isPresent()) {
            failed(current, first.get().exitCode(), reports, failures);
        } else if (current.nodes().size() < nodes.max() && done == 0) {
            alive().stream()
                    .filter(node -> !current.nodes().contains(node.number))
                    .findFirst()
                    .ifPresent(node -> over(current, node + " has come to join the job"));
        }
    }

    private Optional<Ended> ended(Round current, int number) {
        String key = ElasticRecords.key("ended", current.attempt(), number);
        return store.check(List.of(key))
                ? Optional.of(Ended.decode(store.get(key)))
                : Optional.empty();
    }

    /**
     * Ends a round that has failed. The first reported failure is often the consequence of another
     * one, so the coordinator waits for further reports. A launcher waits longer if all codes are
     * 64 (see {@link LaunchAttempt}), and so does this method.
     */
    private void failed(Round current, int exitCode, List<Ended> reports, List<String> failures) {
        if (otherFailures.isEmpty()) {
            otherFailures = Optional.of(TimeLimit.in(FAILURES_TOGETHER));
            otherCodes = TimeLimit.in(LaunchAttempt.USAGE_GRACE);
        }
        boolean ofUsage =
                reports.size() == failures.size()
                        && reports.stream().allMatch(ElasticCoordinator::isOfUsage);
        TimeLimit others = ofUsage ? otherCodes : otherFailures.get();
        if (!others.isOver() && failures.size() < current.nodes().size()) {
            return;
        }
        String why = String.join("\n", failures);
        // A node that leaves or joins is not a failure, and may do so often.
        boolean left = current.nodes().stream().anyMatch(number -> joined.get(number).left);
        restarts += left ? 0 : 1;
        over(current, why);
        if (isLast(reports)) {
            end(new Ended(exitCode, true, why));
        } else if (restarts > maxRestarts) {
            end(
                    new Ended(
                            exitCode,
                            true,
                            why + "\nno restart is left of " + maxRestarts + " (--max-restarts)"));
        } else {
            LOGGER.log(
                    Level.WARNING,
                    "starting again, {0} of {1} restarts used, after: {2}",
                    restarts,
                    maxRestarts,
                    why);
        }
    }

    private static boolean isOfUsage(Ended ended) {
        return ended.last() && ended.exitCode() == Category.USAGE.exitCode();
    }

    /**
     * Whether another start would not help. A report of wrong use does not count if the program of
     * another node failed, as in {@link LaunchException#mayPass}.
     */
    private static boolean isLast(List<Ended> reports) {
        boolean ofProgram =
                reports.stream()
                        .anyMatch(
                                ended ->
                                        !ended.last()
                                                && LaunchException.isOfProgram(ended.exitCode()));
        return reports.stream().anyMatch(ended -> ended.last() && !(ofProgram && isOfUsage(ended)));
    }

    private void over(Round current, String why) {
        store.set(ElasticRecords.key("over", current.attempt()), ElasticRecords.bytes(why));
        running = false;
        joining = TimeLimit.in(nodes.joinTimeout());
        lastCall = Optional.empty();
    }

    private void end(Ended how) {
        store.set(ElasticRecords.END, how.encode());
    }

    /** Serves the store until no launcher that is alive needs it any more. */
    void awaitGoodbyes() {
        TimeLimit limit = TimeLimit.in(GOODBYE_TIMEOUT);
        try {
            thread.join(GOODBYE_TIMEOUT.toMillis());
            listen();
            while (!limit.isOver()
                    && alive().stream()
                            .anyMatch(
                                    node ->
                                            !store.check(
                                                    List.of(
                                                            ElasticRecords.key(
                                                                    "goodbye", node.number))))) {
                TimeUnit.NANOSECONDS.sleep(POLL.toNanos());
                listen();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        closed = true;
        thread.interrupt();
        try {
            thread.join(GOODBYE_TIMEOUT.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        client.close();
    }
}

package org.jccl.launch;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jccl.JcclException.Category;
import org.jccl.Store;
import org.jccl.internal.checks.Counted;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.launch.ElasticRecords.Launcher;
import org.jccl.launch.ElasticRecords.Outcome;
import org.jccl.launch.ElasticRecords.State;
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
        Launcher said;
        long beats;
        long heard = System.nanoTime();

        /** The last round in which it took part. */
        int attempt = -1;

        Node(int number) {
            this.number = number;
        }

        boolean isSilent(Duration limit) {
            return System.nanoTime() - heard > limit.toNanos();
        }

        /** How its ranks ended in the last round in which it took part. */
        Outcome ended() {
            return said.attempt() > attempt ? said.ended() : Outcome.unknown("");
        }

        /** A launcher is ready if none of its ranks is left from its last round. */
        boolean isReady() {
            return attempt < 0 || said.attempt() > attempt && !said.ended().isKnown();
        }

        @Override
        public String toString() {
            return said.host() + " (launcher " + number + ")";
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

    /** The numbers of the next state. */
    private int attempt = -1;

    private int restarts;
    private State state = State.FIRST;
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
        enter(State.FIRST);
        store.set(ElasticRecords.JOB, StoredText.bytes(job));
        thread.start();
    }

    private void run() {
        try {
            while (!closed && !state.ended().isKnown()) {
                listen();
                if (state.isRunning()) {
                    watch();
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

    private void enter(State next) {
        state = next;
        store.set(ElasticRecords.STATE, next.encode());
    }

    /** Reads what the launchers say, and which are alive. */
    private void listen() {
        long launchers = store.add(ElasticRecords.LAUNCHERS, 0);
        for (int number = 1; number <= launchers; number++) {
            // A launcher may be lost between its number and its record.
            Optional<String> said = StoredText.find(store, ElasticRecords.launcher(number));
            if (said.isPresent()) {
                long beats = store.add(ElasticRecords.beat(number), 0);
                hear(number, Launcher.decode(said.get()), beats);
            }
        }
    }

    private void hear(int number, Launcher said, long beats) {
        boolean isNew = !joined.containsKey(number);
        Node node = joined.computeIfAbsent(number, Node::new);
        node.said = said;
        if (isNew) {
            attempt = Math.max(attempt, said.attempt() - 1);
            restarts = Math.max(restarts, said.restarts());
            LOGGER.log(Level.INFO, "{0} has joined", node);
        }
        if (beats != node.beats) {
            node.beats = beats;
            node.heard = System.nanoTime();
        }
    }

    private List<Node> alive() {
        return joined.values().stream()
                .filter(node -> !node.said.left() && !node.isSilent(nodes.silence()))
                .toList();
    }

    private void gather() {
        List<Node> alive = alive();
        List<Node> ready = alive.stream().filter(Node::isReady).limit(nodes.max()).toList();
        if (restarts > maxRestarts) {
            String times = Counted.text(maxRestarts, "time");
            end(new Outcome(1, true, "the job was started again " + times + " already"));
        } else if (ready.size() < nodes.min()) {
            lastCall = Optional.empty();
            if (joining.isOver()) {
                String came =
                        "%d of at least %s came within %s: %s"
                                .formatted(
                                        ready.size(),
                                        Counted.text(nodes.min(), "node"),
                                        Durations.text(nodes.joinTimeout()),
                                        ready);
                end(new Outcome(1, true, came));
            }
        } else {
            if (lastCall.isEmpty()) {
                lastCall = Optional.of(TimeLimit.in(nodes.lastCall()));
            }
            // A launcher that is about to stop its ranks will become ready.
            boolean allReady = alive.stream().allMatch(Node::isReady);
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
        attempt++;
        ready.forEach(node -> node.attempt = attempt);
        List<Integer> numbers = ready.stream().map(node -> node.number).toList();
        enter(new State(attempt, restarts, numbers, state.ended()));
        LOGGER.log(
                Level.INFO,
                "round {0}, after {1}: {2}",
                attempt,
                Counted.text(restarts, "failure"),
                ready);
        otherFailures = Optional.empty();
    }

    private void watch() {
        List<Outcome> failures = new ArrayList<>();
        int done = 0;
        for (int number : state.nodes()) {
            Node node = joined.get(number);
            Outcome ended = node.ended();
            if (ended.well()) {
                done++;
            } else if (ended.isKnown()) {
                failures.add(
                        new Outcome(ended.exitCode(), ended.last(), node + ": " + ended.why()));
            } else if (node.said.left()) {
                failures.add(new Outcome(1, false, node + " received a request to stop"));
            } else if (node.isSilent(nodes.silence())) {
                String why =
                        "%s said nothing for %s: its process or host is gone"
                                .formatted(node, Durations.text(nodes.silence()));
                failures.add(new Outcome(1, false, why));
            }
        }
        int size = state.nodes().size();
        if (done == size) {
            end(new Outcome(0, true, "the job is done"));
        } else if (!failures.isEmpty()) {
            failed(failures);
        } else if (size < nodes.max() && done == 0) {
            alive().stream()
                    .filter(node -> !state.nodes().contains(node.number))
                    .findFirst()
                    .ifPresent(node -> over(node + " has come to join the job"));
        }
    }

    /**
     * Ends a round that has failed. The first reported failure is often the consequence of another
     * one, so the coordinator waits for further reports. A launcher waits longer if all codes are
     * 64 (see {@link LaunchAttempt}), and so does this method.
     */
    private void failed(List<Outcome> failures) {
        if (otherFailures.isEmpty()) {
            otherFailures = Optional.of(TimeLimit.in(FAILURES_TOGETHER));
            otherCodes = TimeLimit.in(LaunchAttempt.USAGE_GRACE);
        }
        boolean ofUsage = failures.stream().allMatch(ElasticCoordinator::isOfUsage);
        TimeLimit others = ofUsage ? otherCodes : otherFailures.get();
        if (!others.isOver() && failures.size() < state.nodes().size()) {
            return;
        }
        String why = failures.stream().map(Outcome::why).collect(Collectors.joining("\n"));
        int exitCode = failures.get(0).exitCode();
        // A node that leaves or joins is not a failure, and may do so often.
        boolean left = state.nodes().stream().anyMatch(number -> joined.get(number).said.left());
        restarts += left ? 0 : 1;
        if (isLast(failures)) {
            end(new Outcome(exitCode, true, why));
        } else if (restarts > maxRestarts) {
            String no = "\nno restart is left of " + maxRestarts + " (--max-restarts)";
            end(new Outcome(exitCode, true, why + no));
        } else {
            over(why);
            LOGGER.log(
                    Level.WARNING,
                    "starting again, {0} of {1} restarts used, after: {2}",
                    restarts,
                    maxRestarts,
                    why);
        }
    }

    private static boolean isOfUsage(Outcome ended) {
        return ended.last() && ended.exitCode() == Category.USAGE.exitCode();
    }

    /**
     * Whether another start would not help. A report of wrong use does not count if another node
     * left or was lost, or its program failed, as in {@link LaunchException#mayPass}.
     */
    private static boolean isLast(List<Outcome> failures) {
        boolean ofOthers =
                failures.stream()
                        .anyMatch(
                                each ->
                                        !each.last()
                                                && LaunchException.isOfProgram(each.exitCode()));
        return failures.stream().anyMatch(each -> each.last() && !(ofOthers && isOfUsage(each)));
    }

    private void over(String why) {
        enter(new State(state.attempt(), restarts, List.of(), Outcome.unknown(why)));
        joining = TimeLimit.in(nodes.joinTimeout());
        lastCall = Optional.empty();
    }

    private void end(Outcome how) {
        enter(new State(state.attempt(), restarts, List.of(), how));
    }

    /** Serves the store until no launcher that is alive needs it any more. */
    void awaitGoodbyes() {
        TimeLimit limit = TimeLimit.in(GOODBYE_TIMEOUT);
        try {
            thread.join(GOODBYE_TIMEOUT.toMillis());
            listen();
            while (!limit.isOver() && !alive().isEmpty()) {
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

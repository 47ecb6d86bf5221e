package org.jccl.launch;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.launch.ElasticRecords.Launcher;
import org.jccl.launch.ElasticRecords.Outcome;
import org.jccl.launch.ElasticRecords.State;
import org.jccl.store.TcpStore;

/**
 * A launcher's side of an elastic job: it joins, sends heartbeats, takes part in the rounds that
 * the coordinator starts, and reports how its ranks ended. A thread of its own sends the
 * heartbeats; the thread that runs the job calls everything else.
 */
final class ElasticMember implements AutoCloseable {

    private static final Duration POLL = Duration.ofMillis(200);

    /** How long a launcher waits for a coordinator that has served the store already. */
    private static final Duration START_TIMEOUT = Duration.ofSeconds(10);

    /** Longer than a coordinator serves the store of a job that has ended. */
    private static final Duration LAST_JOB = Duration.ofMinutes(1);

    private final Store store;

    /** The connection of the heartbeats and of this launcher's record, which no read delays. */
    private final TcpStore own;

    private final Store ownKeys;
    private final int number;
    private final Thread heart;
    private final Thread onShutdown;

    /** Why this launcher can not send heartbeats any more. */
    private volatile Optional<RuntimeException> silent = Optional.empty();

    /** What this launcher has said. Guarded by this object for writing: the hook leaves. */
    private volatile Launcher said;

    private ElasticMember(TcpStore client, String run, Launcher self, Duration pause) {
        this.store = ElasticRecords.of(client, run);
        this.number = (int) store.add(ElasticRecords.LAUNCHERS, 1);
        this.said = self;
        store.set(ElasticRecords.launcher(number), self.encode());
        this.own = client.duplicate(client.timeout());
        this.ownKeys = ElasticRecords.of(own, run);
        this.heart = new Thread(() -> beat(pause), "jccl-alive");
        heart.setDaemon(true);
        this.onShutdown = new Thread(this::leave, "jccl-leave");
    }

    /**
     * Joins the job.
     *
     * @param job the description of the job, which is equal on all launchers
     * @throws BootstrapException if the store is not that of this run, or of another job
     * @throws StoreException if the store is lost, or closed because its job has ended
     */
    static ElasticMember join(
            TcpStore client, String run, String job, Launcher self, Duration aliveInterval) {
        String address = "the store at " + client.host() + ":" + client.port() + " is ";
        Store store = ElasticRecords.of(client, run);
        TimeLimit start = TimeLimit.in(START_TIMEOUT);
        while (!store.check(List.of(ElasticRecords.JOB))) {
            require(
                    !start.isOver(),
                    address
                            + "not that of run '"
                            + run
                            + "': give every launcher the same --rdzv-id, and each job of a host"
                            + " its own --rdzv-endpoint");
            pause();
        }
        // A launcher that was in no round must not return the result of a job that ended before it
        // joined. When the store of that job is closed, the next look throws StoreException.
        TimeLimit last = TimeLimit.in(LAST_JOB);
        while (self.attempt() == 0 && state(store).ended().isKnown()) {
            require(
                    !last.isOver(),
                    address + "still that of a job that has ended: see why its launcher does not");
            pause();
        }
        String served = StoredText.text(store.get(ElasticRecords.JOB));
        require(
                served.equals(job),
                "this launcher was started for "
                        + job
                        + "; the one that serves the job's store for "
                        + served
                        + ": give every launcher the same --nproc-per-node, --role, --nnodes and"
                        + " --max-restarts");
        ElasticMember member = new ElasticMember(client, run, self, aliveInterval);
        member.heart.start();
        Runtime.getRuntime().addShutdownHook(member.onShutdown);
        return member;
    }

    private static void require(boolean condition, String message) {
        if (!condition) {
            throw new BootstrapException(FailureContext.NONE, message);
        }
    }

    private static State state(Store store) {
        return State.decode(StoredText.text(store.get(ElasticRecords.STATE)));
    }

    private void beat(Duration pause) {
        try {
            while (true) {
                ownKeys.add(ElasticRecords.beat(number), 1);
                TimeUnit.NANOSECONDS.sleep(pause.toNanos());
            }
        } catch (InterruptedException closing) {
            Thread.currentThread().interrupt();
        } catch (RuntimeException gone) {
            silent = Optional.of(gone);
        }
    }

    /**
     * Reads how far the job has come.
     *
     * @throws StoreException also if the heartbeats failed: the others take this launcher for lost,
     *     so it must not wait
     */
    private State state() {
        Optional<RuntimeException> why = silent;
        if (why.isPresent()) {
            throw new StoreException(
                    "this launcher can not send heartbeats any more: " + why.get().getMessage(),
                    why.get());
        }
        return state(store);
    }

    private synchronized void say(Launcher now) {
        said = now;
        ownKeys.set(ElasticRecords.launcher(number), now.encode());
    }

    /** Reports that this launcher takes no part any more, and does not need the store. */
    synchronized void leave() {
        try {
            say(new Launcher(said.host(), said.attempt(), said.restarts(), true, said.ended()));
        } catch (RuntimeException gone) {
            // The others notice that the heartbeats stop.
        }
    }

    int number() {
        return number;
    }

    /**
     * Waits for a round in which this node takes part, or for the end of the job.
     *
     * @param next number of the first round that this launcher has not been in
     */
    State awaitRound(int next, TimeLimit limit) {
        while (true) {
            State state = state();
            if (state.ended().isKnown() || state.attempt() >= next && isIn(state)) {
                return state;
            }
            if (state.attempt() >= said.attempt() && !isIn(state)) {
                // The coordinator must not wait for ranks of a round that this launcher has missed.
                stopped(state);
            }
            if (limit.isOver()) {
                throw LaunchException.timedOut("the time was over before enough nodes came");
            }
            pause();
        }
    }

    private boolean isIn(State state) {
        return state.nodes().contains(number);
    }

    /** Publishes the address of the store for the ranks of a round. */
    void publish(State round, String address) {
        store.set(ElasticRecords.ranksStore(round.attempt()), StoredText.bytes(address));
    }

    /** The address of the ranks' store; empty if the round ends before it is published. */
    Optional<String> awaitRanksStore(State round) {
        String key = ElasticRecords.ranksStore(round.attempt());
        Optional<String> address = StoredText.find(store, key);
        while (address.isEmpty() && !isOver(round)) {
            pause();
            address = StoredText.find(store, key);
        }
        return address;
    }

    /**
     * Whether the coordinator has ended the round: after a failure, for a new node, or at the end.
     */
    boolean isOver(State round) {
        return isOver(round, state());
    }

    private static boolean isOver(State round, State now) {
        return now.attempt() != round.attempt() || !now.isRunning();
    }

    /** Why the ranks of a round must be stopped. */
    Optional<LaunchException> reasonToStop(State round) {
        State now = state();
        return isOver(round, now)
                ? Optional.of(LaunchException.of(now.ended().why(), (Throwable) null))
                : Optional.empty();
    }

    /** Reports how the ranks of this node ended. */
    synchronized void ended(State round, Outcome how) {
        int next = round.attempt() + 1;
        say(new Launcher(said.host(), next, round.restarts(), said.left(), how));
    }

    void awaitOver(State round, TimeLimit limit) {
        while (!isOver(round)) {
            if (limit.isOver()) {
                ended(round, new Outcome(1, true, "the job's time is over"));
            }
            pause();
        }
    }

    /** Reports that no rank of this node is left. */
    void stopped(State round) {
        ended(round, Outcome.unknown(""));
    }

    /** Waits before the next look. */
    static void pause() {
        try {
            TimeUnit.NANOSECONDS.sleep(POLL.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw LaunchException.of("the thread that ran the job was interrupted", e);
        }
    }

    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(onShutdown);
        } catch (IllegalStateException shuttingDown) {
            // It runs already.
        }
        heart.interrupt();
        own.close();
    }
}

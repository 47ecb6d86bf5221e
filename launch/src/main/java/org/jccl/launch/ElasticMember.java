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
import org.jccl.launch.ElasticRecords.Ended;
import org.jccl.launch.ElasticRecords.Joined;
import org.jccl.launch.ElasticRecords.Round;
import org.jccl.launch.ElasticRecords.StoreAddress;
import org.jccl.store.TcpStore;

/**
 * A launcher's side of an elastic job: it joins, sends heartbeats, takes part in the rounds that
 * the coordinator starts, and reports how its ranks ended. A thread of its own sends the
 * heartbeats; the thread that runs the job calls everything else.
 */
final class ElasticMember implements AutoCloseable {

    static final Duration POLL = Duration.ofMillis(200);

    /** How long a launcher waits for a coordinator that has served the store already. */
    private static final Duration START_TIMEOUT = Duration.ofSeconds(10);

    /** Longer than a coordinator serves the store of a job that has ended. */
    private static final Duration LAST_JOB = Duration.ofMinutes(1);

    private final Store store;
    private final TcpStore beating;
    private final int number;
    private final String run;
    private final Thread heart;
    private final Thread onShutdown;
    private volatile boolean closed;

    /** Why this launcher can not send heartbeats any more. */
    private volatile Optional<RuntimeException> silent = Optional.empty();

    private Optional<StoreException> lost = Optional.empty();

    private ElasticMember(Store store, TcpStore beating, int number, String run, Duration pause) {
        this.store = store;
        this.beating = beating;
        this.number = number;
        this.run = run;
        Store beats = ElasticRecords.of(beating, run);
        this.heart = new Thread(() -> beat(beats, pause), "jccl-alive");
        heart.setDaemon(true);
        this.onShutdown = new Thread(this::leave, "jccl-leave");
    }

    /**
     * Joins the job.
     *
     * @throws BootstrapException if the store is not that of this run
     * @throws StoreException if the store is lost, or closed because its job has ended
     */
    static ElasticMember join(TcpStore client, String run, Joined self, Duration aliveInterval) {
        Store store = ElasticRecords.of(client, run);
        TimeLimit limit = TimeLimit.in(START_TIMEOUT);
        while (!store.check(List.of(ElasticRecords.COORDINATOR))) {
            if (limit.isOver()) {
                throw new BootstrapException(
                        FailureContext.NONE,
                        "the store at "
                                + client.host()
                                + ":"
                                + client.port()
                                + " is not that of run '"
                                + run
                                + "': give every launcher the same --rdzv-id, and each job of a host"
                                + " its own --rdzv-endpoint");
            }
            sleep(POLL);
        }
        if (self.attempt() == 0) {
            outlastJobBefore(client, store);
        }
        int number = (int) store.add(ElasticRecords.TICKETS, 1);
        store.set(ElasticRecords.key("join", number), self.encode());
        ElasticMember member =
                new ElasticMember(
                        store, client.duplicate(client.timeout()), number, run, aliveInterval);
        member.heart.start();
        Runtime.getRuntime().addShutdownHook(member.onShutdown);
        return member;
    }

    /**
     * Waits until the store of a previous job is closed, which throws StoreException. A launcher
     * that was in no round must not return the result of a job that ended before it joined.
     */
    private static void outlastJobBefore(TcpStore client, Store store) {
        TimeLimit limit = TimeLimit.in(LAST_JOB);
        while (store.check(List.of(ElasticRecords.END))) {
            if (limit.isOver()) {
                throw new BootstrapException(
                        FailureContext.NONE,
                        "the store at "
                                + client.host()
                                + ":"
                                + client.port()
                                + " is still that of a job that has ended: see why its launcher"
                                + " does not");
            }
            sleep(POLL);
        }
    }

    private void beat(Store beats, Duration pause) {
        try {
            while (!closed) {
                beats.add(ElasticRecords.key("beat", number), 1);
                sleep(pause);
            }
        } catch (RuntimeException gone) {
            silent = Optional.of(gone);
        }
    }

    /**
     * Throws if the heartbeats failed: the others take this launcher for lost, so it must not wait.
     */
    private void requireHeard() {
        Optional<RuntimeException> why = silent;
        if (why.isPresent() && !closed) {
            throw new StoreException(
                    "this launcher can not send heartbeats any more: " + why.get().getMessage(),
                    why.get());
        }
    }

    int number() {
        return number;
    }

    /**
     * Waits for a round in which this node takes part.
     *
     * @param after number of the last one
     * @return empty when the job has ended
     */
    Optional<Round> awaitRound(int after, TimeLimit limit) {
        while (true) {
            requireHeard();
            Optional<String> refused = read("refused").map(ElasticRecords::text);
            if (refused.isPresent()) {
                throw new BootstrapException(FailureContext.NONE, refused.get());
            }
            if (end().isPresent()) {
                return Optional.empty();
            }
            int latest = (int) store.add(ElasticRecords.ROUNDS, 0);
            if (latest > after) {
                Round round = Round.decode(store.get(ElasticRecords.key("round", latest)));
                if (round.nodes().contains(number) && !isOver(round)) {
                    return Optional.of(round);
                }
            }
            if (limit.isOver()) {
                throw LaunchException.timedOut("the time was over before enough nodes came");
            }
            sleep(POLL);
        }
    }

    private Optional<byte[]> read(String what) {
        String key = ElasticRecords.key(what, number);
        return store.check(List.of(key)) ? Optional.of(store.get(key)) : Optional.empty();
    }

    /** How the job ended, if it has. */
    Optional<Ended> end() {
        return store.check(List.of(ElasticRecords.END))
                ? Optional.of(Ended.decode(store.get(ElasticRecords.END)))
                : Optional.empty();
    }

    /** Publishes the address of the store for the ranks of a round. */
    void publish(Round round, StoreAddress address) {
        store.set(ElasticRecords.key("store", round.attempt()), address.encode());
    }

    /** The address of the ranks' store; empty if the round ends before it is published. */
    Optional<StoreAddress> awaitStoreAddress(Round round) {
        String key = ElasticRecords.key("store", round.attempt());
        while (!store.check(List.of(key))) {
            if (isOver(round)) {
                return Optional.empty();
            }
            sleep(POLL);
        }
        return Optional.of(StoreAddress.decode(store.get(key)));
    }

    /**
     * Whether the coordinator has ended the round: after a failure, for a new node, or at the end.
     */
    boolean isOver(Round round) {
        requireHeard();
        return store.check(List.of(ElasticRecords.key("over", round.attempt())));
    }

    /** Why the ranks of a round must be stopped. A lost store is retained for {@link #lost}. */
    Optional<LaunchException> reasonToStop(Round round) {
        try {
            requireHeard();
            String key = ElasticRecords.key("over", round.attempt());
            return store.check(List.of(key))
                    ? Optional.of(
                            LaunchException.of(
                                    ElasticRecords.text(store.get(key)), (Throwable) null))
                    : Optional.empty();
        } catch (StoreException e) {
            lost = Optional.of(e);
            return Optional.of(
                    LaunchException.of("the launcher that served the job's store is gone", e));
        }
    }

    /** The failure of the store that {@link #reasonToStop} found. */
    Optional<StoreException> lost() {
        return lost;
    }

    /** Reports how the ranks of this node ended. */
    void ended(Round round, Ended how) {
        store.set(ElasticRecords.key("ended", round.attempt(), number), how.encode());
    }

    /** Reports that this process is ending, so that the others need not wait for its heartbeats. */
    private void leave() {
        try {
            ElasticRecords.of(beating, run).set(ElasticRecords.key("left", number), new byte[0]);
        } catch (RuntimeException gone) {
            // The others notice that the heartbeats stop.
        }
    }

    void awaitOver(Round round, TimeLimit limit) {
        while (!isOver(round)) {
            if (limit.isOver()) {
                ended(round, new Ended(1, true, "the job's time is over"));
            }
            sleep(POLL);
        }
    }

    /** Reports that no rank of this node is left. */
    void stopped(Round round) {
        store.set(ElasticRecords.key("stopped", round.attempt(), number), new byte[0]);
    }

    /** Reports that this launcher does not need the store any more. */
    void sayGoodbye() {
        store.set(ElasticRecords.key("goodbye", number), new byte[0]);
    }

    private static void sleep(Duration time) {
        try {
            TimeUnit.NANOSECONDS.sleep(time.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw LaunchException.of("the thread that ran the job was interrupted", e);
        }
    }

    @Override
    public void close() {
        closed = true;
        try {
            Runtime.getRuntime().removeShutdownHook(onShutdown);
        } catch (IllegalStateException shuttingDown) {
            // It runs already.
        }
        heart.interrupt();
        beating.close();
    }
}

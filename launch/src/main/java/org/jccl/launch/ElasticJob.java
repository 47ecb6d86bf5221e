package org.jccl.launch;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.StoreException;
import org.jccl.internal.checks.Counted;
import org.jccl.internal.rendezvous.HostedStore;
import org.jccl.internal.rendezvous.RunId;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.launch.ElasticRecords.Launcher;
import org.jccl.launch.ElasticRecords.Outcome;
import org.jccl.launch.ElasticRecords.State;
import org.jccl.spi.LocalHost;

/**
 * One launcher's part in an elastic job: it runs rounds until the coordinator reports that the job
 * has ended. If the launcher that serves the store is lost, it continues at another endpoint.
 */
final class ElasticJob {

    private static final Logger LOGGER = System.getLogger(ProcessLauncher.class.getName());

    private final LaunchSettings settings;
    private final ElasticNodes nodes;
    private final TimeLimit limit;
    private final OrphanReaper reaper;
    private final String job;
    private int nextAttempt;
    private int restarts;
    private boolean inRound;

    /** The failure of this node's own ranks in the last round. */
    private Optional<LaunchException> own = Optional.empty();

    ElasticJob(LaunchSettings settings, ElasticNodes nodes, TimeLimit limit, OrphanReaper reaper) {
        this.settings = settings;
        this.nodes = nodes;
        this.limit = limit;
        this.reaper = reaper;
        this.job =
                "%s on each of %d to %s, %s"
                        .formatted(
                                settings.ranksByRole(),
                                nodes.min(),
                                Counted.text(nodes.max(), "node"),
                                Counted.text(settings.maxRestarts(), "restart"));
    }

    /** Runs the job until it has ended. */
    void run() {
        Optional<Outcome> end = Optional.empty();
        while (end.isEmpty()) {
            TimeLimit joining = TimeLimit.in(limit.atMost(nodes.joinTimeout()));
            try (ElasticStore store = ElasticStore.open(nodes, settings.tls(), joining)) {
                end = Optional.of(serveAndTakePart(store));
            } catch (StoreException e) {
                if (limit.isOver()) {
                    throw own.orElseGet(() -> LaunchException.of(gone(e), e));
                }
                LOGGER.log(Level.WARNING, gone(e) + "; looking for another");
                if (inRound) {
                    restarts++;
                }
            }
        }
        Outcome how = end.get();
        if (!how.well()) {
            throw own.orElseGet(() -> LaunchException.ofJob(how.why(), how.exitCode()));
        }
    }

    private static String gone(StoreException why) {
        return "the launcher that served the job's store is gone (" + why.getMessage() + ")";
    }

    private Outcome serveAndTakePart(ElasticStore store) {
        if (!store.served()) {
            return takePart(store);
        }
        try (ElasticCoordinator coordinator =
                new ElasticCoordinator(
                        store, nodes, settings.runId(), job, settings.maxRestarts())) {
            coordinator.start();
            Outcome end = takePart(store);
            coordinator.awaitGoodbyes();
            return end;
        }
    }

    private Outcome takePart(ElasticStore store) {
        inRound = false;
        String address = store.localAddress(nodes);
        Launcher self =
                new Launcher(LocalHost.name(), nextAttempt, restarts, false, Outcome.unknown(""));
        try (ElasticMember member =
                ElasticMember.join(
                        store.client(), settings.runId(), job, self, nodes.keepAliveInterval())) {
            State state = member.awaitRound(nextAttempt, limit);
            while (!state.ended().isKnown()) {
                nextAttempt = state.attempt() + 1;
                restarts = state.restarts();
                inRound = true;
                run(state, member, address);
                inRound = false;
                state = member.awaitRound(nextAttempt, limit);
            }
            member.leave();
            return state.ended();
        }
    }

    private void run(State round, ElasticMember member, String address) {
        own = Optional.empty();
        if (round.nodes().indexOf(member.number()) > 0) {
            Optional<String> ranksStore = member.awaitRanksStore(round);
            if (ranksStore.isPresent()) {
                runRanks(round, member, ranksStore.get());
            } else {
                member.stopped(round);
            }
            return;
        }
        // Each round has a store of its own, so that it has no keys of an earlier round.
        HostedStore ranks;
        try {
            ranks =
                    HostedStore.serve(
                            address,
                            0,
                            RunId.of(settings.runId()).contents(),
                            settings.tls(),
                            nodes.joinTimeout());
        } catch (BootstrapException e) {
            finish(round, member, Optional.of(LaunchException.of(e.getMessage(), e)));
            return;
        }
        try (ranks) {
            String ranksStore = address + ":" + ranks.port();
            member.publish(round, ranksStore);
            runRanks(round, member, ranksStore);
        }
    }

    private void runRanks(State round, ElasticMember member, String ranksStore) {
        LaunchRound start =
                new LaunchRound(
                        round.attempt(),
                        round.restarts(),
                        round.nodes().size(),
                        round.nodes().indexOf(member.number()),
                        ElasticNodes.host(ranksStore),
                        ElasticNodes.port(ranksStore));
        OtherNodes others = () -> member.reasonToStop(round);
        LaunchAttempt ranks = new LaunchAttempt(settings, start, others, reaper);
        Optional<LaunchException> failure = ranks.run(limit);
        if (ranks.isShuttingDown()) {
            // The job continues without this node.
            throw failure.orElseGet(
                    () ->
                            LaunchException.of(
                                    "this launcher received a request to stop", (Throwable) null));
        }
        Optional<StoreException> lost = failure.flatMap(LaunchException::lostStore);
        if (lost.isPresent()) {
            throw lost.get();
        }
        finish(round, member, failure);
    }

    private void finish(State round, ElasticMember member, Optional<LaunchException> failure) {
        if (Thread.currentThread().isInterrupted()) {
            // No call of a store works any more; the others notice that the heartbeats stop.
            throw failure.orElseGet(
                    () ->
                            LaunchException.of(
                                    "the thread that ran the job was interrupted",
                                    (Throwable) null));
        }
        boolean hopeless = limit.isOver();
        if (failure.isEmpty()) {
            own = Optional.empty();
            member.ended(round, Outcome.WELL);
        } else if (!member.isOver(round)) {
            LaunchException why = failure.get();
            own = failure;
            LOGGER.log(Level.WARNING, "this node''s ranks failed: {0}", why.getMessage());
            String first = why.getMessage().lines().findFirst().orElse("");
            member.ended(round, new Outcome(why.exitCode(), hopeless || !why.mayPass(), first));
        }
        member.awaitOver(round, limit);
        member.stopped(round);
    }
}

package org.jccl.launch;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import org.jccl.Store;
import org.jccl.internal.rendezvous.HostedStore;
import org.jccl.internal.rendezvous.RunId;
import org.jccl.internal.rendezvous.StoreUrl;
import org.jccl.spi.Deadline;
import org.jccl.store.TcpStore;

/** One job of a {@link ProcessLauncher}: its store, and its ranks, which may be restarted. */
final class ProcessJob {

    private static final Logger LOGGER = System.getLogger(ProcessLauncher.class.getName());
    private static final Duration STORE_TIMEOUT = Duration.ofMinutes(5);

    /** The time without an answer after which the other launchers consider node 0 lost. */
    private static final Duration SILENCE = Duration.ofMinutes(1);

    private final LaunchSettings settings;
    private final Deadline limit;
    private final OrphanReaper reaper;

    ProcessJob(LaunchSettings settings, Deadline limit, OrphanReaper reaper) {
        this.settings = settings;
        this.limit = limit;
        this.reaper = reaper;
    }

    void run() {
        if (settings.service().isPresent()) {
            StoreUrl url = settings.service().get();
            try (Store first = url.connect(limit.atMost(STORE_TIMEOUT));
                    Store store = first.duplicate(SILENCE)) {
                run(new JobStore(store, url.host(), url.port()));
            }
            return;
        }
        try (HostedStore hosted = openStore();
                TcpStore store = hosted.client().duplicate(SILENCE)) {
            run(new JobStore(store, settings.masterAddress(), store.port()));
        }
    }

    /**
     * The store of the launchers and of the ranks.
     *
     * @param host the host that serves it
     * @param port its port
     */
    private record JobStore(Store client, String host, int port) {}

    private void run(JobStore store) {
        NodeAgreement.Conclusion end = attempt(store, 0);
        for (int attempt = 1; end.restart(); attempt++) {
            LOGGER.log(
                    Level.WARNING,
                    "restart {0} of {1} after: {2}",
                    attempt,
                    settings.maxRestarts(),
                    end.failure().map(Throwable::getMessage).orElse(""));
            end = attempt(store, attempt);
        }
        if (end.failure().isPresent()) {
            throw end.failure().get();
        }
    }

    private HostedStore openStore() {
        Duration timeout = limit.atMost(STORE_TIMEOUT);
        String host = settings.masterAddress();
        return settings.nodeRank() == 0
                ? HostedStore.serve(
                        host,
                        settings.masterPort(),
                        RunId.of(settings.runId()).contents(),
                        settings.tls(),
                        timeout)
                : HostedStore.connect(host, settings.masterPort(), settings.tls(), timeout);
    }

    private NodeAgreement.Conclusion attempt(JobStore store, int attempt) {
        NodeAgreement nodes = new NodeAgreement(store.client(), settings, attempt);
        nodes.enter(limit);
        LaunchRound round =
                new LaunchRound(
                        attempt, settings.nodes(), settings.nodeRank(), store.host(), store.port());
        return nodes.conclude(new LaunchAttempt(settings, round, nodes, reaper).run(limit), limit);
    }
}

package org.jccl.launch;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.internal.rendezvous.HostedStore;
import org.jccl.internal.rendezvous.RunId;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.store.StoreServer;
import org.jccl.store.TcpStore;

/**
 * Starts the ranks of a job as processes of this host, with torchrun's environment variables, and
 * serves their store. It corresponds to {@code torch.multiprocessing.spawn} and {@code torchrun}.
 *
 * <pre>{@code
 * ProcessLauncher.spawn(4, Training.class, "--epochs", "3");
 * }</pre>
 *
 * <p>Each rank reads its rank and the store's address with the init method {@code env://}. When the
 * first rank fails, the launcher sends SIGTERM to the others, and SIGKILL after the grace period.
 * It does the same when the time is over, when the thread that runs the job is interrupted, and
 * when this JVM ends. If this JVM is killed (SIGKILL), a small shell that was started with it kills
 * the ranks and their children, which have the variable {@code JCCL_LAUNCHER} in their environment.
 *
 * <p>A launcher is safe for use by several threads; each {@link #run()} is a job of its own.
 */
public final class ProcessLauncher {

    private static final Logger LOGGER = System.getLogger(ProcessLauncher.class.getName());
    private static final Duration STORE_TIMEOUT = Duration.ofMinutes(5);

    /** How long node 0 may be silent before the other launchers count it as lost. */
    private static final Duration SILENCE = Duration.ofMinutes(1);

    private final LaunchSettings settings;

    ProcessLauncher(LaunchSettings settings) {
        this.settings = settings;
    }

    /**
     * Runs a class's {@code main} in {@code ranks} JVMs like this one (same executable and class
     * path), prints each of their lines after the rank, and waits for all of them.
     *
     * @param ranks number of ranks
     * @param mainClass a class with a {@code main} method
     * @param arguments the arguments of {@code main}
     * @throws LaunchException if a rank fails; the message says how
     * @throws UsageException if an argument is null or {@code ranks} is less than 1
     */
    public static void spawn(int ranks, Class<?> mainClass, String... arguments) {
        builder(ranks).mainClass(mainClass, arguments).build().run();
    }

    /**
     * Creates a builder for a job.
     *
     * @param ranks number of ranks that this launcher starts
     * @return the builder
     * @throws UsageException if {@code ranks} is less than 1
     */
    public static ProcessLauncherBuilder builder(int ranks) {
        return new ProcessLauncherBuilder(ranks);
    }

    /**
     * Runs the job and waits until every rank has ended.
     *
     * @throws LaunchException if a rank fails and no restart is left, if the time is over, if
     *     another node fails, or if this thread is interrupted (then its flag is set again)
     * @throws org.jccl.BootstrapException if the store can not be served or reached, or a node does
     *     not arrive
     */
    public void run() {
        TimeLimit limit = TimeLimit.in(settings.timeout());
        if (settings.elastic().isPresent()) {
            try (OrphanReaper reaper = OrphanReaper.start()) {
                new ElasticJob(settings, settings.elastic().get(), limit, reaper).run();
            }
            return;
        }
        if (settings.endpoints().isEmpty()) {
            try (HostedStore hosted = openStore(limit);
                    TcpStore store = hosted.client().duplicate(SILENCE)) {
                run(new JobStore(store, store.port(), List.of()), limit);
            }
        } else {
            try (StoreServers servers = StoreServers.open(settings, limit);
                    Store store = servers.connect(SILENCE)) {
                run(new JobStore(store, settings.masterPort(), servers.all()), limit);
            }
        }
    }

    /**
     * The store of the launchers and of the ranks.
     *
     * @param port of the master
     * @param servers if it is replicated
     */
    private record JobStore(Store client, int port, List<StoreServer> servers) {}

    private void run(JobStore store, TimeLimit limit) {
        try (OrphanReaper reaper = OrphanReaper.start()) {
            NodeAgreement.Conclusion end = attempt(store, 0, limit, reaper);
            for (int attempt = 1; end.restart(); attempt++) {
                LOGGER.log(
                        Level.WARNING,
                        "restart {0} of {1} after: {2}",
                        attempt,
                        settings.maxRestarts(),
                        end.failure().map(Throwable::getMessage).orElse(""));
                end = attempt(store, attempt, limit, reaper);
            }
            if (end.failure().isPresent()) {
                throw end.failure().get();
            }
        }
    }

    private HostedStore openStore(TimeLimit limit) {
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

    private NodeAgreement.Conclusion attempt(
            JobStore store, int attempt, TimeLimit limit, OrphanReaper reaper) {
        NodeAgreement nodes = new NodeAgreement(store.client(), settings, attempt);
        nodes.enter(limit);
        LaunchRound round =
                new LaunchRound(
                        attempt,
                        attempt,
                        settings.nodes(),
                        settings.nodeRank(),
                        settings.masterAddress(),
                        store.port(),
                        store.servers());
        return nodes.conclude(new LaunchAttempt(settings, round, nodes, reaper).run(limit), limit);
    }
}

package org.jccl.launch;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.UsageException;
import org.jccl.spi.Deadline;

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

    private final LaunchSettings settings;
    private final Set<OrphanReaper> jobs = ConcurrentHashMap.newKeySet();

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
     * @throws org.jccl.BootstrapException if the store cannot be served or reached, or a node does
     *     not arrive
     */
    public void run() {
        Deadline limit = settings.timeout().map(Deadline::after).orElseGet(Deadline::none);
        LaunchSettings job = settings.ofJob();
        try (OrphanReaper reaper = OrphanReaper.start()) {
            jobs.add(reaper);
            try {
                new ProcessJob(job, limit, reaper).run();
            } finally {
                jobs.remove(reaper);
            }
        }
    }

    /**
     * Sends a signal to all ranks that are running, for programs that save their state when they
     * are notified. Processes that ranks have started do not get it. Does nothing while no job
     * runs.
     *
     * @param signal its name without SIG, for instance {@code USR1}
     * @throws UsageException if it is null or no name
     */
    public void signal(String signal) {
        LaunchSettings.check(
                signal != null && signal.matches("[A-Z][A-Z0-9+-]*"),
                "the signal is " + signal + "; give a name such as USR1");
        jobs.forEach(job -> job.signal(signal));
    }
}

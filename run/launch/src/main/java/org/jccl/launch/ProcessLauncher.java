package org.jccl.launch;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.UsageException;
import org.jccl.spi.Deadline;

/**
 * Starts the ranks of a job as processes on this host, with torchrun's environment variables, and
 * serves their store. It corresponds to {@code torch.multiprocessing.spawn} and {@code torchrun}.
 *
 * <pre>{@code
 * ProcessLauncher.spawn(4, Training.class, "--epochs", "3");
 * }</pre>
 *
 * <p>Each rank reads its rank and the store's address with the init method {@code env://}. When the
 * first rank fails, the launcher sends SIGTERM to the others, and SIGKILL after the grace period.
 * It does the same when the job's timeout expires, the thread that runs the job is interrupted, or
 * this JVM exits. If this JVM is killed (SIGKILL), a small helper shell kills the ranks and their
 * children. It finds them by the variable {@code JCCL_LAUNCHER} in their environment.
 *
 * <p>Thread-safe. Each {@link #run()} is a separate job.
 */
public final class ProcessLauncher {

    private final LaunchSettings settings;
    private final Set<OrphanReaper> jobs = ConcurrentHashMap.newKeySet();

    ProcessLauncher(LaunchSettings settings) {
        this.settings = settings;
    }

    /**
     * Runs a class's {@code main} in {@code ranks} JVMs and waits for all of them. The JVMs have
     * this JVM's executable and class path. Each of their lines is printed after the rank.
     *
     * @param ranks number of ranks
     * @param mainClass a class with a {@code main} method
     * @param arguments the arguments of {@code main}
     * @throws LaunchException if a rank fails; the message contains its exit code and last lines
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
     * @throws LaunchException if a rank fails and no restart is left, the timeout expires, another
     *     node fails, or this thread is interrupted (its interrupt flag stays set)
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
            } catch (OutOfMemoryError e) {
                // A rank may run of which Java has no object.
                reaper.killRanks();
                throw LaunchException.ofLimit(e);
            } finally {
                jobs.remove(reaper);
            }
        }
    }

    /**
     * Sends a signal to all running ranks, for instance to make them save their state. Child
     * processes of the ranks do not get it. Does nothing while no job runs.
     *
     * @param signal the name without SIG, for instance {@code USR1}
     * @throws UsageException if it is null or not a signal name
     */
    public void signal(String signal) {
        LaunchSettings.check(
                signal != null && signal.matches("[A-Z][A-Z0-9+-]*"),
                "the signal is " + signal + "; give a name such as USR1");
        jobs.forEach(job -> job.signal(signal));
    }
}

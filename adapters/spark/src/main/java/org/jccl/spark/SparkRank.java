package org.jccl.spark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.util.TaskCompletionListener;
import org.apache.spark.util.TaskFailureListener;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.spi.BackendProvider.Broadcast;
import org.jccl.spi.BackendProvider.World;
import org.jccl.spi.Polling;

/**
 * A task of a barrier stage as a rank. It ends with the task: its groups are closed, or aborted if
 * the task fails or is killed. A cancelled job, or the failure of another rank, ends operations
 * that wait here within a second. A task that computes continues until its next operation, which
 * throws.
 *
 * <p>Safe for use by several threads.
 */
public final class SparkRank {

    private static final Logger LOGGER = System.getLogger(SparkRank.class.getName());

    /** All tasks are there when the rendezvous begins. */
    private static final Duration JOIN_TIMEOUT = Duration.ofMinutes(1);

    private static final Duration KILL_POLL = Duration.ofMillis(100);

    /** How long the store stays open for a killed task, which may ask why. */
    private static final Duration KILL_GRACE = Duration.ofSeconds(1);

    /** How long Spark may take to notice a lost executor and to kill the other tasks. */
    private static final Duration KILL_NOTICE_TIMEOUT = Duration.ofSeconds(10);

    private final BarrierTaskContext context;
    private final Rendezvous rendezvous;
    private final FirstFailure firstFailure;
    private final Deque<ProcessGroup> groups = new ArrayDeque<>();
    private final CountDownLatch ended = new CountDownLatch(1);

    /** Why there are no new groups; guarded by the list of groups. */
    private Optional<String> over = Optional.empty();

    private SparkRank(BarrierTaskContext context, Rendezvous rendezvous) {
        this.context = context;
        this.rendezvous = rendezvous;
        this.firstFailure =
                new FirstFailure(
                        rendezvous.store(),
                        "rank " + rank() + " on " + context.getTaskInfos()[rank()].address());
    }

    static SparkRank join(BarrierTaskContext context) {
        World world =
                new World(
                        context.partitionId(),
                        context.getTaskInfos().length,
                        -1,
                        Optional.of(broadcast(context)));
        Rendezvous rendezvous =
                Rendezvous.in("Spark", world, world.broadcast().orElseThrow(), JOIN_TIMEOUT);
        SparkRank rank = new SparkRank(context, rendezvous);
        Thread watch =
                new Thread(
                        rank::watch,
                        "jccl-spark-stage-" + context.stageId() + "-rank-" + rank.rank());
        watch.setDaemon(true);
        watch.start();
        TaskFailureListener onFailure = (task, failure) -> rank.fail(failure);
        TaskCompletionListener onEnd = task -> rank.end();
        context.addTaskFailureListener(onFailure);
        context.addTaskCompletionListener(onEnd);
        return rank;
    }

    /** Sends the address and the secret of the store to the other tasks through Spark's driver. */
    private static Broadcast broadcast(BarrierTaskContext context) {
        return (bytes, timeout) -> {
            boolean first = context.partitionId() == 0;
            String mine = first ? Base64.getEncoder().encodeToString(bytes) : "";
            byte[] received = Base64.getDecoder().decode(context.allGather(mine)[0]);
            System.arraycopy(received, 0, bytes, 0, bytes.length);
        };
    }

    /**
     * This task's rank.
     *
     * @return from 0; the number of its partition
     */
    public int rank() {
        return context.partitionId();
    }

    /**
     * World size.
     *
     * @return number of tasks of the stage
     */
    public int size() {
        return context.getTaskInfos().length;
    }

    /**
     * How often the stage was started before.
     *
     * @return 0 at first
     */
    public int attempt() {
        return context.stageAttemptNumber();
    }

    /**
     * Spark's view of the task.
     *
     * @return the context, for instance for its resources and barriers
     */
    public BarrierTaskContext context() {
        return context;
    }

    /**
     * The store of this attempt. The executor of rank 0 serves it to clients with a random secret,
     * which Spark has sent to the tasks.
     *
     * @return the store, which ends with the task; its calls wait up to a minute
     */
    public Store store() {
        return rendezvous.store();
    }

    /**
     * The device that Spark has assigned to this task: the first address of its resource {@code
     * gpu}, which is device type {@code cuda} here, or of another one by its own name, for instance
     * {@code npu}.
     *
     * @param type of the device, for instance {@code cuda}
     * @return the device, or empty if the task has no such resource
     * @throws UsageException if the type is null or no such text as {@link Device} takes, or the
     *     resource's address is not a device's number
     */
    public Optional<Device> device(String type) {
        return TaskDevices.device(context.resourcesJMap(), type);
    }

    /**
     * Makes the world of all tasks' ranks. Every rank must call it equally often. The world is
     * closed with the task if the program does not close it before.
     *
     * @param backend for instance {@code gloo}, or {@code cpu:gloo,cuda:nccl}; in any case. The
     *     rank uses the device that Spark has assigned, where the backend takes such
     * @return this rank's group of all ranks
     * @throws UsageException if the text is null or has another form, or the task has ended
     * @throws GroupAbortedException if Spark has killed the task
     * @throws org.jccl.BackendUnavailableException if the backend cannot be used here
     * @throws org.jccl.JcclException if the other ranks do not come in time
     */
    public ProcessGroup init(String backend) {
        return init(backend, options -> {});
    }

    /**
     * Makes the world of all tasks' ranks, with options.
     *
     * @param backend as in {@link #init(String)}
     * @param options sets what shall not be as it is by default, for instance the timeout
     * @return this rank's group of all ranks
     * @throws UsageException if an argument is null or not valid, or the task has ended
     * @throws GroupAbortedException if Spark has killed the task
     * @throws org.jccl.BackendUnavailableException if the backend cannot be used here
     * @throws org.jccl.JcclException if the other ranks do not come in time
     */
    public ProcessGroup init(String backend, Consumer<ProcessGroupBuilder> options) {
        if (backend == null || options == null) {
            throw new UsageException(
                    FailureContext.NONE,
                    "init: pass the name of a backend, and options or none; got backend "
                            + backend
                            + (options == null ? " and null" : ""));
        }
        requireOpen();
        ProcessGroupBuilder builder =
                ProcessGroup.builder()
                        .backend(backend)
                        .store(store())
                        .rank(rank())
                        .worldSize(size());
        TaskDevices.ofBackend(context.resourcesJMap(), backend).ifPresent(builder::device);
        options.accept(builder);
        ProcessGroup world = builder.build();
        synchronized (groups) {
            groups.push(world);
        }
        try {
            requireOpen(); // the task may have been killed meanwhile
            return world;
        } catch (RuntimeException e) {
            world.abort();
            throw e;
        }
    }

    private void requireOpen() {
        synchronized (groups) {
            if (over.isPresent()) {
                throw new GroupAbortedException(
                        FailureContext.ofGroup("", rank()), this + ": " + over.get());
            }
        }
    }

    /** Aborts the groups when Spark kills the task, and closes the store after the end. */
    private void watch() {
        try {
            while (!ended.await(KILL_POLL.toMillis(), TimeUnit.MILLISECONDS)) {
                if (context.isInterrupted()) {
                    abort("Spark has killed the task");
                    // The task may still read the reason from the store before it is closed.
                    ended.await(KILL_GRACE.toMillis(), TimeUnit.MILLISECONDS);
                    break;
                }
            }
            rendezvous.close();
        } catch (InterruptedException | RuntimeException e) {
            LOGGER.log(Level.WARNING, this + " did not end normally", e);
        }
    }

    private void abort(String why) {
        synchronized (groups) {
            over = over.or(() -> Optional.of(why));
            groups.forEach(ProcessGroup::abort);
        }
    }

    /**
     * The failure to report for a failure of this rank.
     *
     * @param failure of the rank's function
     * @return a failure that names the rank that failed first, if it is another one
     */
    Throwable explained(Throwable failure) {
        return firstFailure
                .report(failure)
                .<Throwable>map(
                        first ->
                                new GroupAbortedException(
                                        FailureContext.ofGroup("", rank()), first, failure))
                .orElse(failure);
    }

    /**
     * Reports the failure to the other ranks, and ends their operations. If another rank failed
     * first, this rank waits, so that Spark reports the failure of that rank as that of the job.
     */
    private void fail(Throwable failure) {
        Optional<String> first = firstFailure.report(failure);
        abort("the task has failed: " + failure);
        first.ifPresent(text -> LOGGER.log(Level.WARNING, "{0} fails because {1}", this, text));
        ended.countDown();
        if (first.isPresent() || FirstFailure.isOfAnother(failure)) {
            awaitKill();
        }
    }

    private void awaitKill() {
        long end = System.nanoTime() + KILL_NOTICE_TIMEOUT.toNanos();
        while (!context.isInterrupted() && System.nanoTime() < end) {
            Polling.sleep(KILL_POLL);
        }
    }

    /** Closes the groups after the task has ended. */
    private void end() {
        Deque<ProcessGroup> open;
        synchronized (groups) {
            over = over.or(() -> Optional.of("the task has ended"));
            open = new ArrayDeque<>(groups);
        }
        for (ProcessGroup group : open) {
            try {
                group.close();
            } catch (RuntimeException e) {
                // The task has its result, or a failure that this must not hide.
                LOGGER.log(Level.WARNING, this + " could not close " + group, e);
            }
        }
        ended.countDown();
    }

    /** For instance {@code rank 1 of 4, stage 3 attempt 0}. */
    @Override
    public String toString() {
        return "rank "
                + rank()
                + " of "
                + size()
                + ", stage "
                + context.stageId()
                + " attempt "
                + attempt();
    }
}

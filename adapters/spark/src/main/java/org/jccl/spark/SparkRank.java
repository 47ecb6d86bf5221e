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
import java.util.concurrent.locks.LockSupport;
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

/**
 * A task of a barrier stage as a rank. It ends with the task: its groups are closed, or aborted
 * where the task fails or is killed. So a cancelled job, or another rank's failure, ends what waits
 * in an operation here, within a second; a task that computes for itself goes on until its next
 * operation, which throws.
 *
 * <p>Safe for use by several threads.
 */
public final class SparkRank {

    private static final Logger LOG = System.getLogger(SparkRank.class.getName());

    /** All tasks are there when the rendezvous begins. */
    private static final Duration JOIN_TIMEOUT = Duration.ofMinutes(1);

    private static final Duration KILL_POLL = Duration.ofMillis(100);

    private static final Duration KILL_GRACE = Duration.ofSeconds(1);

    /** How long Spark may take to notice that an executor is gone, and to kill the other tasks. */
    private static final Duration KILL_PATIENCE = Duration.ofSeconds(10);

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

    /** Where the store is, and its secret, reach the other tasks through Spark's driver. */
    private static Broadcast broadcast(BarrierTaskContext context) {
        return (bytes, timeout) -> {
            boolean first = context.partitionId() == 0;
            String mine = first ? Base64.getEncoder().encodeToString(bytes) : "";
            byte[] told = Base64.getDecoder().decode(context.allGather(mine)[0]);
            System.arraycopy(told, 0, bytes, 0, bytes.length);
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
     * The attempt's own store, which rank 0's executor serves to whoever knows a random secret that
     * Spark has brought to the tasks.
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
     * @return the device, or empty when the task has no such resource
     * @throws UsageException when the type is null or no such text as {@link Device} takes, or the
     *     resource's address is not a device's number
     */
    public Optional<Device> device(String type) {
        return TaskDevices.device(context.resourcesJMap(), type);
    }

    /**
     * Makes the world of all tasks' ranks. Every rank calls it, each as often as the others. It is
     * closed with the task where the program does not close it before.
     *
     * @param backend for instance {@code gloo}, or {@code cpu:gloo,cuda:nccl}; in any case. The
     *     rank uses the device that Spark has assigned, where the backend takes such
     * @return this rank's group of all ranks
     * @throws UsageException when the text is null or has another form, or the task has ended
     * @throws GroupAbortedException when Spark has killed the task
     * @throws org.jccl.BackendUnavailableException when the backend can not be used here
     * @throws org.jccl.JcclException when the other ranks do not come in time
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
     * @throws UsageException when an argument is null or not valid, or the task has ended
     * @throws GroupAbortedException when Spark has killed the task
     * @throws org.jccl.BackendUnavailableException when the backend can not be used here
     * @throws org.jccl.JcclException when the other ranks do not come in time
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

    /** Ends what waits here when Spark kills the task, and lets go of the store after the end. */
    private void watch() {
        try {
            while (!ended.await(KILL_POLL.toMillis(), TimeUnit.MILLISECONDS)) {
                if (context.isInterrupted()) {
                    abort("Spark has killed the task");
                    // The task may still ask the store why; what waits there has to end as well.
                    ended.await(KILL_GRACE.toMillis(), TimeUnit.MILLISECONDS);
                    break;
                }
            }
            rendezvous.close();
        } catch (InterruptedException | RuntimeException e) {
            LOG.log(Level.WARNING, this + " did not end as it should", e);
        }
    }

    private void abort(String why) {
        synchronized (groups) {
            over = over.or(() -> Optional.of(why));
            groups.forEach(ProcessGroup::abort);
        }
    }

    /**
     * What a failure of this rank is to be reported as.
     *
     * @param failure of the rank's function
     * @return one that names the rank that failed first, where that is another
     */
    Throwable explained(Throwable failure) {
        return firstFailure
                .tell(failure)
                .<Throwable>map(
                        first ->
                                new GroupAbortedException(
                                        FailureContext.ofGroup("", rank()), first, failure))
                .orElse(failure);
    }

    /**
     * Tells the other ranks, and ends their operations. Where another rank failed first, Spark is
     * left to learn of that one before: its message is then the job's.
     */
    private void fail(Throwable failure) {
        Optional<String> first = firstFailure.tell(failure);
        abort("the task has failed: " + failure);
        first.ifPresent(text -> LOG.log(Level.WARNING, "{0} fails because {1}", this, text));
        ended.countDown();
        if (first.isPresent() || FirstFailure.isOfAnother(failure)) {
            awaitKill();
        }
    }

    private void awaitKill() {
        long end = System.nanoTime() + KILL_PATIENCE.toNanos();
        while (!context.isInterrupted() && System.nanoTime() < end) {
            LockSupport.parkNanos(KILL_POLL.toNanos());
        }
    }

    /** The task is over, whichever way. */
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
                LOG.log(Level.WARNING, this + " could not close " + group, e);
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

package org.jccl.training;

import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;

/**
 * Averages the gradients of a model over the ranks of a group while the backward pass still runs,
 * like the reducer of PyTorch's {@code DistributedDataParallel}. The caller registers the gradients
 * once, in the order of the model's parameters. The reducer fills its buckets in reverse order,
 * which is approximately the order in which a backward pass produces gradients. A bucket is reduced
 * as one message when all of its gradients are {@linkplain #ready ready}. After the first step the
 * reducer rebuilds the buckets in the order in which gradients became ready on rank 0.
 *
 * <pre>{@code
 * try (GradientReducer reducer = GradientReducer.builder(world)
 *         .gradient("weight", weightGradient)
 *         .gradient("bias", biasGradient)
 *         .build()) {
 *     for (each batch) {
 *         // the backward pass calls reducer.ready(1), later reducer.ready(0)
 *         reducer.finish();
 *         // step of the optimizer
 *     }
 * }
 * }</pre>
 *
 * <p>All ranks issue buckets in the same order, even if their gradients become ready in another
 * order: a full bucket waits until all buckets before it are issued. Between the first {@code
 * ready} of a step and the end of {@code finish}, other threads may use the group only if all ranks
 * issue those operations at the same point of the sequence. If that cannot be ensured, give the
 * reducer its own group.
 *
 * <p>A gradient can be in memory of the program: {@code ready} copies it to its bucket and {@code
 * finish} copies it back. Alternatively, it exists only in its bucket ({@link #bucketView}) and is
 * not copied.
 *
 * <p>On devices each call of {@code ready} records its current stream, and the reduction of the
 * bucket is ordered after the work enqueued on it so far. {@code finish} makes the current stream
 * wait for the reductions. The streams must exist until {@code finish} returns. The host blocks
 * only at the end of the first step, when buckets are rebuilt, and in every step if gradients may
 * be unused.
 *
 * <p>Any thread may call {@code ready}. Only the thread that runs the training loop may call {@code
 * finish}, {@code noSync} and {@code join}. After a failure of the group these four methods throw.
 * A step of 200 gradients allocates less than 1 KB.
 */
public final class GradientReducer implements AutoCloseable {

    private final ProcessGroup group;
    private final Device device;
    private final List<Gradient> gradients;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition copied = lock.newCondition();

    // Guarded by the lock.
    private final Step step;
    private int copying;
    private int accumulating;
    private Throwable failure;
    private boolean closed;

    GradientReducer(GradientReducerBuilder options, Device device, List<Gradient> gradients) {
        this.group = options.group;
        this.device = device;
        this.gradients = gradients;
        this.step = new Step(options, device, gradients);
    }

    /**
     * Returns a builder for a reducer.
     *
     * @param group the group whose ranks reduce; the caller keeps ownership
     * @return a builder with all defaults
     * @throws UsageException if the group is null
     */
    public static GradientReducerBuilder builder(ProcessGroup group) {
        return new GradientReducerBuilder(group);
    }

    /**
     * Copies the root's parameters to all ranks, so that they start with the same model. This is a
     * collective operation: all ranks must call it with tensors of the same types and counts in the
     * same order. It blocks until the copy is complete; on devices it is ordered on the current
     * stream.
     *
     * @param group the group to broadcast in
     * @param parameters read on the root, written on the other ranks
     * @param root the root's rank in the group
     * @throws UsageException as {@link ProcessGroup#broadcast(List, int)} does
     * @throws JcclException if the broadcast fails
     */
    public static void broadcastParameters(ProcessGroup group, List<Tensor> parameters, int root) {
        ParameterBroadcast.run(group, parameters, root);
    }

    /**
     * Compares the model on all ranks and then copies the root's tensors to all ranks, as {@link
     * #broadcastParameters} does. All ranks must call it.
     *
     * @param group the group to compare and broadcast in
     * @param model all tensors of the model; read on the root, written on the other ranks
     * @param root the root's rank in the group
     * @throws DifferentModelsException if names, types, shapes or their order differ. All ranks
     *     throw it, the message names the first difference, and nothing is copied
     * @throws UsageException as {@link ProcessGroup#broadcast(List, int)} does
     * @throws JcclException if the comparison or the broadcast fails
     */
    public static void broadcastModel(ProcessGroup group, List<NamedTensor> model, int root) {
        ParameterBroadcast.runCompared(group, model, root);
    }

    /**
     * Returns the number of registered gradients.
     *
     * @return at least one
     */
    public int size() {
        return gradients.size();
    }

    /**
     * Returns the memory of a gradient in its bucket, for frameworks that can write the gradient
     * there. {@code finish} leaves the average in it. The view is valid until the buckets are
     * rebuilt. That happens at most once, at the end of the first step. If gradients exist only in
     * their buckets, rebuilding requires {@link GradientReducerBuilder#onRebuild}.
     *
     * @param index the index of the gradient, in the order of registration
     * @return a view that the reducer owns and that is valid until it is closed; for a gradient in
     *     the program's memory, the copy in the bucket
     * @throws UsageException if there is no such gradient, or the reducer is closed
     */
    public Tensor bucketView(int index) {
        Gradient gradient = gradient(index);
        lock.lock();
        try {
            requireOpen();
            return gradient.view;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns whether any rank produced a gradient in the last step that {@link #finish} ended. If
     * gradients may be {@linkplain GradientReducerBuilder#unusedGradients unused} and no rank
     * produced this one, there is no average: memory of the program is unchanged, and a gradient
     * that exists only in its bucket is zero.
     *
     * @param index the index of the gradient, in the order of registration
     * @return always true if gradients may not be unused; the same on all ranks
     * @throws UsageException if there is no such gradient
     */
    public boolean wasUsed(int index) {
        Gradient gradient = gradient(index);
        lock.lock();
        try {
            return gradient.usedAnywhere;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Returns the buckets in the order in which they are issued.
     *
     * @return the gradients' indices in each
     */
    public List<List<Integer>> buckets() {
        lock.lock();
        try {
            return step.buckets().stream()
                    .map(bucket -> bucket.gradients.stream().map(gradients::indexOf).toList())
                    .toList();
        } finally {
            lock.unlock();
        }
    }

    /**
     * Marks a gradient of this step as complete. Copies it to its bucket and issues each full
     * bucket that has no unissued bucket before it. Never waits for other ranks. Inside a {@link
     * #noSync} scope it issues nothing.
     *
     * @param index the index of the gradient, in the order of registration
     * @throws UsageException if there is no such gradient, it is already ready in this step, its
     *     memory is closed, or the reducer is closed or has failed
     * @throws JcclException if the group has failed
     */
    public void ready(int index) {
        Gradient gradient = gradient(index);
        Stream current = step.currentStream();
        if (!beginCopy(gradient, current)) {
            return;
        }
        boolean done = false;
        try {
            gradient.copyToBucket();
            done = true;
        } finally {
            endCopy(gradient, index, current, done);
        }
    }

    /** Returns false if there is nothing to copy. */
    private boolean beginCopy(Gradient gradient, Stream current) {
        lock.lock();
        try {
            requireUsable();
            if (accumulating > 0) {
                gradient.accumulated = true;
                return false;
            }
            if (!gradient.isMissing()) {
                throw usage(
                        "gradient "
                                + gradient
                                + " became ready twice in one step; finish() ends a step");
            }
            begin(current);
            gradient.state = Gradient.State.COPYING;
            copying++;
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void begin(Stream current) {
        try {
            step.begin(current, true);
        } catch (RuntimeException | Error e) {
            failure = e;
            throw e;
        }
    }

    private void endCopy(Gradient gradient, int index, Stream current, boolean done) {
        lock.lock();
        try {
            copying--;
            if (copying == 0) {
                copied.signalAll();
            }
            if (!done) {
                gradient.state = Gradient.State.WAITING;
                return;
            }
            step.add(index, current);
        } catch (RuntimeException | Error e) {
            failure = e;
            throw e;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Ends a step: waits for the reductions, as {@link Work#await} does. On the CPU it blocks; on
     * devices the calling thread's current stream waits. Afterwards all gradients are averages.
     * Inside a {@link #noSync} scope it does nothing.
     *
     * @throws MissingGradientException if gradients never became ready and may not be unused. On
     *     the CPU all ranks throw it, the message names the gradients and the ranks that lack them,
     *     and the next step can begin. On devices only the rank that lacks them throws it, and its
     *     reducer fails. The other ranks wait until that rank leaves the group or their operations
     *     time out
     * @throws UsageException if the reducer is closed or has failed
     * @throws JcclException if an operation failed
     */
    public void finish() {
        lock.lock();
        try {
            requireUsable();
            if (accumulating > 0) {
                return;
            }
            while (copying > 0) {
                copied.awaitUninterruptibly();
            }
            guarded(step::finish);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Suspends averaging until the returned scope is closed, so that the program can accumulate the
     * gradients of several batches. The first step after the scope averages all accumulated
     * gradients, including those that do not become ready again in it. All ranks must use the scope
     * for the same steps.
     *
     * @return the scope, to be closed before the last batch of the accumulation; scopes can be
     *     nested
     * @throws UsageException if a step has begun, or if the reducer is closed or has failed
     */
    public NoSync noSync() {
        lock.lock();
        try {
            requireUsable();
            if (step.isOpen()) {
                throw usage("noSync() within a step; call it before the first ready()");
            }
            accumulating++;
        } finally {
            lock.unlock();
        }
        boolean[] open = {true};
        return () -> {
            lock.lock();
            try {
                accumulating -= open[0] ? 1 : 0;
                open[0] = false;
            } finally {
                lock.unlock();
            }
        };
    }

    /** A scope in which gradients are accumulated and not averaged. */
    public interface NoSync extends AutoCloseable {
        /** Ends the scope. Idempotent. */
        @Override
        void close();
    }

    /**
     * Contributes zero gradients to the other ranks' steps until all ranks have joined. Ranks can
     * therefore have different numbers of batches, as with PyTorch's {@code Join}. Each rank must
     * call it when it has no more batches. Sums are still divided by the size of the group. A rank
     * that joins early misses the last optimizer steps: afterwards, call {@link
     * #broadcastParameters} with the returned rank as the root. Blocks until all ranks have joined.
     * The next epoch may begin after it returns.
     *
     * @return a rank that made the most steps, the same on all ranks
     * @throws UsageException if the reducer was not built for uneven inputs, a step has begun, or
     *     the reducer is closed or has failed
     * @throws MissingGradientException as {@link #finish} does
     * @throws JcclException if an operation failed
     */
    public int join() {
        lock.lock();
        try {
            requireUsable();
            if (!step.countsRanks()) {
                throw usage("join() needs a reducer that was built with unevenInputs(true)");
            }
            if (step.isOpen() || accumulating > 0) {
                throw usage("join() within a step; call finish() first");
            }
            int[] rank = new int[1];
            guarded(() -> rank[0] = step.join());
            return rank[0];
        } finally {
            lock.unlock();
        }
    }

    /**
     * Runs a call and marks the reducer as failed if it throws: the ranks may then have issued
     * different operations, unless all ranks throw.
     */
    private void guarded(Runnable call) {
        try {
            call.run();
        } catch (MissingGradientException e) {
            failure = device.isCpu() ? null : e;
            throw e;
        } catch (RuntimeException | Error e) {
            failure = e;
            throw e;
        }
    }

    private Gradient gradient(int index) {
        if (index < 0 || index >= gradients.size()) {
            throw usage(
                    "there is no gradient "
                            + index
                            + "; the reducer has "
                            + Counted.of(gradients.size(), "gradient"));
        }
        return gradients.get(index);
    }

    private void requireUsable() {
        requireOpen();
        if (failure != null) {
            throw new UsageException(
                    context(),
                    "the reducer has failed before; make a new group and a new reducer: "
                            + failure.getMessage(),
                    failure);
        }
    }

    private void requireOpen() {
        if (closed) {
            throw usage("the reducer is closed");
        }
    }

    private UsageException usage(String message) {
        return new UsageException(context(), message);
    }

    private FailureContext context() {
        return FailureContext.ofGroup(group.name(), group.rank());
    }

    /**
     * Waits for the operations on the buckets and frees them. The group stays open. Idempotent.
     *
     * @throws JcclException on devices, as {@link Stream#synchronize} does
     */
    @Override
    public void close() {
        lock.lock();
        try {
            if (closed) {
                return;
            }
            closed = true;
            try {
                step.synchronize();
            } finally {
                step.close();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Returns a description such as {@code 161 gradients in 5 buckets on cpu}. */
    @Override
    public String toString() {
        return Counted.of(gradients.size(), "gradient")
                + " in "
                + Counted.of(buckets().size(), "bucket")
                + " on "
                + device;
    }
}

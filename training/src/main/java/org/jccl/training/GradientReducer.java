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
 * as the reducer of PyTorch's {@code DistributedDataParallel}. Gradients are registered once, in
 * the order of the model's parameters, and put into buckets in reverse order, which is about the
 * order in which a backward pass produces them. A bucket whose gradients are all {@linkplain #ready
 * ready} is reduced as one message. After the first step buckets are made anew by the order in
 * which gradients really came on rank 0.
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
 * <p>All ranks issue buckets in the same order, whatever the order in which their gradients become
 * ready: a bucket that is full before its turn waits. Between the first {@code ready} of a step and
 * the end of {@code finish} other threads may use the group only if they do so at the same place on
 * all ranks; give the reducer a group of its own where that can not be.
 *
 * <p>A gradient lies in the program's memory, from which it is copied to its bucket when it is
 * ready and back in {@code finish}, or only in its bucket ({@link #bucketView}).
 *
 * <p>On devices a bucket is reduced after what the streams that were current in its calls of {@code
 * ready} have enqueued by then, and {@code finish} makes the current stream wait; streams must
 * exist until then. The host is not blocked, but at the end of the first step, where buckets are
 * made anew, and where gradients may be unused.
 *
 * <p>{@code ready} may be called by any thread. {@code finish}, {@code noSync} and {@code join} are
 * for the thread that runs the loop. After a failure of the group the reducer can not be used any
 * more. A step of 200 gradients makes less than 1 KB of garbage.
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
     * Begins to describe a reducer.
     *
     * @param group whose ranks reduce; stays the caller's
     * @return a builder with all defaults
     * @throws UsageException when the group is null
     */
    public static GradientReducerBuilder builder(ProcessGroup group) {
        return new GradientReducerBuilder(group);
    }

    /**
     * Copies the root's parameters to all ranks, so that they begin with the same model. All ranks
     * call it, with tensors of the same types and counts in the same order. It is a collective of
     * the group like any other, and done on return, on devices in the order of the current stream.
     *
     * @param group whose ranks these are
     * @param parameters in on the root, out elsewhere
     * @param root rank of that group
     * @throws UsageException when an argument is wrong, as {@link ProcessGroup#broadcast(List,
     *     int)} says
     * @throws JcclException when it fails
     */
    public static void broadcastParameters(ProcessGroup group, List<Tensor> parameters, int root) {
        ParameterBroadcast.run(group, parameters, root);
    }

    /**
     * Compares a model between all ranks, and then copies the root's to all, as {@link
     * #broadcastParameters} does. All ranks call it.
     *
     * @param group whose ranks these are
     * @param model parameters, and whatever else belongs to it; in on the root, out elsewhere
     * @param root rank of that group
     * @throws DifferentModelsException when names, types or shapes differ, or their order; all
     *     ranks throw it and name the first that differs, and nothing was copied
     * @throws UsageException when an argument is wrong, as {@link ProcessGroup#broadcast(List,
     *     int)} says
     * @throws JcclException when it fails
     */
    public static void broadcastModel(ProcessGroup group, List<NamedTensor> model, int root) {
        ParameterBroadcast.runCompared(group, model, root);
    }

    /**
     * Number of gradients.
     *
     * @return at least one
     */
    public int size() {
        return gradients.size();
    }

    /**
     * A gradient's place in its bucket, for frameworks that can put it there; {@code finish} leaves
     * the average in it. Valid until buckets are made anew, which happens at most once, at the end
     * of the first step, and for gradients without memory of their own only where {@link
     * GradientReducerBuilder#onRebuild} takes notice.
     *
     * @param index of the gradient, in the order of registration
     * @return memory of the reducer, which ends with it; for a gradient of the program's memory a
     *     view of what is copied there
     * @throws UsageException when there is no such gradient, or the reducer is closed
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
     * Whether any rank had a gradient in the last step that {@link #finish} ended. Where gradients
     * may be {@linkplain GradientReducerBuilder#unusedGradients unused}, one that no rank had has
     * no average: it stays as it was, or becomes zero if it lives in its bucket.
     *
     * @param index of the gradient, in the order of registration
     * @return true where gradients may not be unused; the same on all ranks
     * @throws UsageException when there is no such gradient
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
     * The buckets, in the order in which they are issued.
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
     * Tells that a gradient of this step is complete. Copies it to its bucket, and issues the
     * buckets whose turn it is and that are full. Never waits for other ranks. While gradients are
     * only accumulated ({@link #noSync}) it does nothing.
     *
     * @param index of the gradient, in the order of registration
     * @throws UsageException when there is no such gradient, it was ready in this step before, its
     *     memory is closed, or the reducer is closed or has failed
     * @throws JcclException when the group has failed
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

    /** False when nothing is to be copied. */
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
     * Ends a step: waits until all gradients are averages, as {@link Work#await} does: on the CPU
     * it blocks, on devices the calling thread's current stream waits. While gradients are only
     * accumulated it does nothing.
     *
     * @throws MissingGradientException when gradients never became ready and may not be unused. On
     *     the CPU all ranks throw it, name the gradients and the ranks that lack them, and the next
     *     step can begin. On devices the rank that lacks them does, and the reducer has failed; the
     *     others wait for it until it leaves the group or their operations' deadline
     * @throws UsageException when the reducer is closed or has failed
     * @throws JcclException when an operation failed
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
     * Stops averaging until the result is closed: {@code ready} and {@code finish} do nothing, so
     * that the program accumulates gradients of several batches. The first step after it averages
     * what was accumulated, also gradients that are not ready again in it. All ranks do so for the
     * same steps.
     *
     * @return to be closed before the last of the batches; scopes can be nested
     * @throws UsageException within a step, or when the reducer is closed or has failed
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
        return new NoSync() {
            private boolean open = true;

            @Override
            public void close() {
                lock.lock();
                try {
                    accumulating -= open ? 1 : 0;
                    open = false;
                } finally {
                    lock.unlock();
                }
            }
        };
    }

    /** A time during which gradients are only accumulated. */
    public interface NoSync extends AutoCloseable {
        /** Ends it. Idempotent. */
        @Override
        void close();
    }

    /**
     * Takes part in the other ranks' steps, with gradients of zero, until all ranks have joined: so
     * ranks may have different numbers of batches, as with PyTorch's {@code Join}. Each rank calls
     * it when it has no more batches. Gradients are still divided by the number of all ranks. Ranks
     * that joined early lack the last steps of the optimizer, so their parameters have to be taken
     * from the rank that is returned, by {@link #broadcastParameters}. Blocks. The next epoch may
     * begin after it.
     *
     * @return a rank that made the most steps, the same on all ranks
     * @throws UsageException when the reducer was not built for uneven inputs, within a step, or
     *     when it is closed or has failed
     * @throws MissingGradientException as {@link #finish}
     * @throws JcclException when an operation failed
     */
    public int join() {
        lock.lock();
        try {
            requireUsable();
            if (!step.countsRanks()) {
                throw usage("join() needs a reducer that was built with unevenInputs(true)");
            }
            if (step.isOpen() || accumulating > 0) {
                throw usage("join() within a step; finish() it first");
            }
            int[] rank = new int[1];
            guarded(() -> rank[0] = step.join());
            return rank[0];
        } finally {
            lock.unlock();
        }
    }

    /** After what fails here ranks may be at different places, but where all ranks know of it. */
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
     * Frees the buckets, when what runs on them is done. The group stays open. Idempotent.
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

    /** For instance {@code 161 gradients in 5 buckets on cpu}. */
    @Override
    public String toString() {
        return Counted.of(gradients.size(), "gradient")
                + " in "
                + Counted.of(buckets().size(), "bucket")
                + " on "
                + device;
    }
}

package org.jccl.training;

import java.util.List;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;

/**
 * The current step of a reducer: gradients come, buckets leave in their order as soon as they are
 * full, and the end of the step waits for all of them. Guarded by the reducer's lock. After an
 * exception ranks may be at different places, except after a {@link MissingGradientException} on
 * the CPU, which all ranks throw.
 */
final class Step implements AutoCloseable {

    private final ProcessGroup group;
    private final Device device;
    private final GradientReducerBuilder options;
    private final ReduceOp op;
    private final List<Gradient> gradients;
    private final StreamOrder order;
    private final Zeros zeros;

    /** Null where all ranks take part in each step. */
    private final ActiveRanks active;

    /** Null where no gradient may be left out. */
    private final GradientUse use;

    /** Until buckets are laid out by it, then null. */
    private ArrivalOrder arrivals;

    private List<Bucket> buckets;
    private int nextBucket;
    private boolean open;

    Step(GradientReducerBuilder options, Device device, List<Gradient> gradients) {
        this.options = options;
        this.group = options.group;
        this.device = device;
        this.gradients = gradients;
        this.op = options.average ? ReduceOp.AVG : ReduceOp.SUM;
        this.order = new StreamOrder(device);
        this.zeros = new Zeros(device);
        this.active = options.unevenInputs ? new ActiveRanks(group, device) : null;
        this.use = options.unused ? new GradientUse(group, device, gradients) : null;
        this.arrivals = new ArrivalOrder(gradients.size());
        this.buckets = bucketsOf(arrivals.complete());
        buckets.forEach(bucket -> bucket.adopt(false));
        if (!options.rebuilds(gradients) || buckets.size() == 1) {
            arrivals = null;
        }
    }

    private List<Bucket> bucketsOf(int[] expected) {
        return BucketPlan.of(gradients, expected, options.firstBucketBytes, options.bucketBytes)
                .stream()
                .map(
                        members ->
                                new Bucket(
                                        members.stream().map(gradients::get).toList(),
                                        device,
                                        options.wireType,
                                        options.bucketMemory))
                .toList();
    }

    /** The buckets, in the order in which they are issued. */
    List<Bucket> buckets() {
        return buckets;
    }

    /** Whether ranks may have different numbers of batches. */
    boolean countsRanks() {
        return active != null;
    }

    /** Whether a step has begun and not ended. */
    boolean isOpen() {
        return open;
    }

    /** The calling thread's current stream, or null on the CPU. */
    Stream currentStream() {
        return order.current();
    }

    /**
     * Begins a step if none is open, and lets a stream write to the buckets.
     *
     * @param stream may be null on the CPU
     * @param takesPart whether this rank has gradients
     */
    void begin(Stream stream, boolean takesPart) {
        if (stream != null) {
            order.awaitLastStep(stream);
        }
        if (!open) {
            open = true;
            if (active != null) {
                active.begin(takesPart);
            }
        }
    }

    /** Takes a gradient that is in its bucket now, and issues what is full. */
    void add(int index, Stream producer) {
        if (arrivals != null) {
            arrivals.add(index);
        }
        add(gradients.get(index), producer);
        while (nextBucket < buckets.size() && buckets.get(nextBucket).isFull()) {
            issueNext(true);
        }
    }

    private static void add(Gradient gradient, Stream producer) {
        gradient.state = Gradient.State.READY;
        gradient.bucket.add(producer);
    }

    private void issueNext(boolean complete) {
        buckets.get(nextBucket).issue(group, op, order, complete);
        nextBucket++;
    }

    /** Issues what is left, and ends the step. */
    void finish() {
        Stream stream = order.current();
        begin(stream, true);
        if (addAccumulated(stream)) {
            if (use != null) {
                zeroMissing(stream);
            } else if (!device.isCpu()) {
                throw MissingGradients.here(group, gradients);
            }
        }
        while (nextBucket < buckets.size()) {
            issueNext(use != null || buckets.get(nextBucket).isFull());
        }
        end(true);
    }

    /** Takes what came earlier and was only accumulated; says whether something never came. */
    private boolean addAccumulated(Stream stream) {
        boolean missing = false;
        for (int i = 0; i < gradients.size(); i++) {
            Gradient gradient = gradients.get(i);
            if (gradient.isMissing()) {
                if (gradient.accumulated) {
                    gradient.copyToBucket();
                    add(gradient, stream);
                } else {
                    missing = true;
                }
            }
        }
        return missing;
    }

    private void zeroMissing(Stream stream) {
        for (int i = 0; i < gradients.size(); i++) {
            Gradient gradient = gradients.get(i);
            if (gradient.isMissing()) {
                gradient.bucket.add(stream);
                zeros.writeTo(gradient.view);
            }
        }
    }

    /** Takes part in the steps of others without gradients, until no rank has any. */
    int join() {
        while (true) {
            begin(order.current(), false);
            if (active.count() == 0) {
                open = false;
                return active.rankWithMostSteps();
            }
            for (Gradient gradient : gradients) {
                zeros.writeTo(gradient.view);
            }
            while (nextBucket < buckets.size()) {
                issueNext(true);
            }
            end(false);
        }
    }

    /** The other half of a step, which is the same on ranks that have no gradients any more. */
    private void end(boolean takesPart) {
        boolean complete = true;
        for (int i = 0; i < buckets.size(); i++) {
            complete &= buckets.get(i).await();
        }
        if (active != null) {
            active.await();
        }
        if (!complete) {
            MissingGradientException missing =
                    MissingGradients.anywhere(group, device, gradients, takesPart);
            reset();
            if (arrivals != null) {
                arrivals.clear();
            }
            throw missing;
        }
        if (use != null) {
            use.agree(takesPart);
        }
        if (takesPart) {
            copyBack();
        }
        order.stepEnds();
        reset();
        if (arrivals != null) {
            rebuild();
        }
    }

    private void copyBack() {
        for (int i = 0; i < gradients.size(); i++) {
            Gradient gradient = gradients.get(i);
            if (gradient.usedAnywhere) {
                gradient.copyFromBucket();
            }
        }
    }

    private void reset() {
        for (int i = 0; i < gradients.size(); i++) {
            gradients.get(i).state = Gradient.State.WAITING;
            gradients.get(i).accumulated = false;
        }
        for (int i = 0; i < buckets.size(); i++) {
            buckets.get(i).reset();
        }
        nextBucket = 0;
        open = false;
    }

    /** Lays the buckets out by the order in which gradients came on rank 0. */
    private void rebuild() {
        List<Bucket> old = buckets;
        buckets = bucketsOf(arrivals.completeOnRank0(group, device));
        arrivals = null;
        buckets.forEach(bucket -> bucket.adopt(true));
        synchronize(); // the copies that adopting made
        old.forEach(Bucket::close);
        order.stepEnds();
        if (options.onRebuild != null) {
            options.onRebuild.run();
        }
    }

    /** Blocks the host until the current stream is done. */
    void synchronize() {
        order.synchronize();
    }

    @Override
    public void close() {
        buckets.forEach(Bucket::close);
        zeros.close();
        if (active != null) {
            active.close();
        }
        if (use != null) {
            use.close();
        }
        order.close();
    }
}

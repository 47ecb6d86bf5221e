package org.jccl.training;

import java.util.List;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;

/**
 * The current step of a reducer. Gradients become ready, full buckets are issued in order, and the
 * end of the step waits for all of them. Guarded by the reducer's lock. After an exception the
 * ranks may have issued different operations, except after a {@link MissingGradientException} on
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

    /** Null if all ranks take part in each step. */
    private final ActiveRanks active;

    /** Null if no gradient may be unused. */
    private final GradientUse use;

    /** The order of the first step; null once the buckets are rebuilt. */
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
                                        options.bucketMemory,
                                        !group.scalesAverages(device.type())))
                .toList();
    }

    /** Returns the buckets in the order in which they are issued. */
    List<Bucket> buckets() {
        return buckets;
    }

    /** Returns whether ranks may have different numbers of batches. */
    boolean countsRanks() {
        return active != null;
    }

    /** Returns whether a step has begun and has not ended. */
    boolean isOpen() {
        return open;
    }

    /** Returns the calling thread's current stream, or null on the CPU. */
    Stream currentStream() {
        return order.current();
    }

    /**
     * Begins a step if none is open, and orders a stream's writes to the buckets after the last
     * step.
     *
     * @param stream the stream that writes; null on the CPU
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

    /** Counts a gradient that is now in its bucket, and issues the full buckets. */
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

    /** Issues the remaining buckets and ends the step. */
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

    /** Adds the accumulated gradients. Returns whether any gradient is still missing. */
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

    /** Takes part in the other ranks' steps with zero gradients until all ranks have joined. */
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

    /** The second half of a step. Ranks that have joined run it too. */
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

    /** Rebuilds the buckets in the order in which gradients became ready on rank 0. */
    private void rebuild() {
        List<Bucket> old = buckets;
        buckets = bucketsOf(arrivals.completeOnRank0(group, device));
        arrivals = null;
        buckets.forEach(bucket -> bucket.adopt(true));
        synchronize(); // waits for the copies of adopt()
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

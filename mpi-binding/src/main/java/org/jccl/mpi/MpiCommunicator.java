package org.jccl.mpi;

import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.spi.Capabilities;
import org.jccl.spi.Capabilities.Feature;
import org.jccl.spi.HostCommunicator;

/** One rank of a group in MPI. Each operation is one native call with primitives. */
final class MpiCommunicator implements HostCommunicator {

    private final long handle;
    private final int[] worldRanks;
    private final boolean onDevice;
    private final Capabilities capabilities;
    private volatile boolean closed;

    /** Takes ownership of the native communicator. */
    MpiCommunicator(long handle, int[] worldRanks, boolean onDevice) {
        this.handle = handle;
        this.worldRanks = worldRanks;
        this.onDevice = onDevice;
        this.capabilities =
                Capabilities.ALL
                        .without(Feature.SHRINK)
                        .with(Feature.SEPARATE_REDUCTION_OUTPUT, Feature.ENDLESS_COLLECTIVES)
                        .withLargestTag(MpiNative.largestUserTag(handle));
    }

    int[] worldRanks() {
        return worldRanks.clone();
    }

    @Override
    public Capabilities capabilities() {
        return capabilities;
    }

    @Override
    public boolean reduces(ReduceOp op, DataType type) {
        return !type.isFloat8()
                && (!onDevice
                        || MpiNative.reducesOnDevices(type.ordinal(), op.kind().ordinal()) != 0);
    }

    @Override
    public void broadcast(long address, long count, DataType type, int root) {
        MpiErrors.answered(MpiNative.broadcast(handle, address, count, type.ordinal(), root));
    }

    @Override
    public void allReduce(long input, long output, long count, DataType type, ReduceOp op) {
        MpiErrors.answered(
                MpiNative.allReduce(
                        handle,
                        input,
                        output,
                        count,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor()));
    }

    @Override
    public void reduce(long input, long output, long count, DataType type, ReduceOp op, int root) {
        MpiErrors.answered(
                MpiNative.reduce(
                        handle,
                        input,
                        output,
                        count,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor(),
                        root));
    }

    @Override
    public void allGather(long input, long output, long count, DataType type) {
        MpiErrors.answered(MpiNative.allGather(handle, input, output, count, type.ordinal()));
    }

    @Override
    public void allGatherV(long input, long output, long[] counts, DataType type) {
        MpiErrors.answered(MpiNative.allGatherV(handle, input, output, counts, type.ordinal()));
    }

    @Override
    public void gather(long input, long output, long count, DataType type, int root) {
        MpiErrors.answered(MpiNative.gather(handle, input, output, count, type.ordinal(), root));
    }

    @Override
    public void scatter(long input, long output, long count, DataType type, int root) {
        MpiErrors.answered(MpiNative.scatter(handle, input, output, count, type.ordinal(), root));
    }

    @Override
    public void reduceScatter(long input, long output, long count, DataType type, ReduceOp op) {
        MpiErrors.answered(
                MpiNative.reduceScatter(
                        handle,
                        input,
                        output,
                        count,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor()));
    }

    @Override
    public void reduceScatterV(long input, long output, long[] counts, DataType type, ReduceOp op) {
        MpiErrors.answered(
                MpiNative.reduceScatterV(
                        handle,
                        input,
                        output,
                        counts,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor()));
    }

    @Override
    public void allToAll(long input, long output, long count, DataType type) {
        MpiErrors.answered(MpiNative.allToAll(handle, input, output, count, type.ordinal()));
    }

    @Override
    public void allToAllV(
            long input, long output, long[] inputCounts, long[] outputCounts, DataType type) {
        MpiErrors.answered(
                MpiNative.allToAllV(
                        handle, input, output, inputCounts, outputCounts, type.ordinal()));
    }

    @Override
    public void barrier() {
        MpiErrors.answered(MpiNative.barrier(handle));
    }

    @Override
    public long send(long address, long count, DataType type, int peer, int tag) {
        return MpiErrors.answered(
                MpiNative.send(handle, address, count, type.ordinal(), peer, tag));
    }

    @Override
    public long recv(long address, long count, DataType type, int peer, int tag) {
        return MpiErrors.answered(
                MpiNative.recv(handle, address, count, type.ordinal(), peer, tag));
    }

    @Override
    public boolean test(long request) {
        return MpiNative.test(handle, request) != 0; // after a failure await throws at once
    }

    @Override
    public int await(long request) {
        return MpiErrors.answered(MpiNative.await(handle, request)) - 1;
    }

    /**
     * Lets the library send pending data of other ranks. It does so only during calls, and a rank
     * without operations makes no other calls.
     */
    @Override
    public JcclException asynchronousError() {
        MpiErrors.answered(MpiNative.progress());
        return null;
    }

    /** MPI can cancel neither sends nor comparisons. */
    @Override
    public boolean abandonsOperations() {
        return MpiNative.abandoned(handle) != 0;
    }

    @Override
    public void abort() {
        if (!closed) {
            MpiNative.abort(handle);
        }
    }

    @Override
    public void endJob(int code) {
        MpiNative.endJob(code);
    }

    @Override
    public synchronized void close() {
        if (!closed) {
            closed = true;
            MpiErrors.answered(MpiNative.close(handle));
        }
    }
}

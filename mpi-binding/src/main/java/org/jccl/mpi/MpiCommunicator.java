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
        Capabilities all =
                Capabilities.ALL
                        .without(Feature.SHRINK)
                        .with(Feature.SEPARATE_REDUCTION_OUTPUT)
                        .withLargestTag(MpiNative.largestUserTag(handle));
        this.capabilities = starts(onDevice) ? all.with(Feature.NONBLOCKING_COLLECTIVES) : all;
    }

    /** Returns whether the library starts collectives without waiting. */
    static boolean starts(boolean onDevice) {
        return !onDevice || MpiNative.startsOnDevices() != 0;
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
    public long broadcast(long address, long count, DataType type, int root, Mode mode) {
        return check(
                MpiNative.broadcast(handle, address, count, type.ordinal(), root, mode.ordinal()));
    }

    @Override
    public long allReduce(
            long input, long output, long count, DataType type, ReduceOp op, Mode mode) {
        return check(
                MpiNative.allReduce(
                        handle,
                        input,
                        output,
                        count,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor(),
                        mode.ordinal()));
    }

    @Override
    public long reduce(
            long input, long output, long count, DataType type, ReduceOp op, int root, Mode mode) {
        return check(
                MpiNative.reduce(
                        handle,
                        input,
                        output,
                        count,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor(),
                        root,
                        mode.ordinal()));
    }

    @Override
    public long allGather(long input, long output, long count, DataType type, Mode mode) {
        return check(
                MpiNative.allGather(handle, input, output, count, type.ordinal(), mode.ordinal()));
    }

    @Override
    public long allGatherV(long input, long output, long[] counts, DataType type, Mode mode) {
        return check(
                MpiNative.allGatherV(
                        handle, input, output, counts, type.ordinal(), mode.ordinal()));
    }

    @Override
    public long gather(long input, long output, long count, DataType type, int root, Mode mode) {
        return check(
                MpiNative.gather(
                        handle, input, output, count, type.ordinal(), root, mode.ordinal()));
    }

    @Override
    public long scatter(long input, long output, long count, DataType type, int root, Mode mode) {
        return check(
                MpiNative.scatter(
                        handle, input, output, count, type.ordinal(), root, mode.ordinal()));
    }

    @Override
    public long reduceScatter(
            long input, long output, long count, DataType type, ReduceOp op, Mode mode) {
        return check(
                MpiNative.reduceScatter(
                        handle,
                        input,
                        output,
                        count,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor(),
                        mode.ordinal()));
    }

    @Override
    public long reduceScatterV(
            long input, long output, long[] counts, DataType type, ReduceOp op, Mode mode) {
        return check(
                MpiNative.reduceScatterV(
                        handle,
                        input,
                        output,
                        counts,
                        type.ordinal(),
                        op.kind().ordinal(),
                        op.factor(),
                        mode.ordinal()));
    }

    @Override
    public long allToAll(long input, long output, long count, DataType type, Mode mode) {
        return check(
                MpiNative.allToAll(handle, input, output, count, type.ordinal(), mode.ordinal()));
    }

    @Override
    public long allToAllV(
            long input,
            long output,
            long[] inputCounts,
            long[] outputCounts,
            DataType type,
            Mode mode) {
        return check(
                MpiNative.allToAllV(
                        handle,
                        input,
                        output,
                        inputCounts,
                        outputCounts,
                        type.ordinal(),
                        mode.ordinal()));
    }

    @Override
    public long send(long address, long count, DataType type, int peer, int tag, Mode mode) {
        return check(
                MpiNative.send(handle, address, count, type.ordinal(), peer, tag, mode.ordinal()));
    }

    @Override
    public long recv(long address, long count, DataType type, int peer, int tag, Mode mode) {
        return check(
                MpiNative.recv(handle, address, count, type.ordinal(), peer, tag, mode.ordinal()));
    }

    @Override
    public long barrier(Mode mode) {
        return check(MpiNative.barrier(handle, mode.ordinal()));
    }

    @Override
    public boolean test(long request) {
        return MpiNative.test(handle, request) != 0; // after a failure await throws at once
    }

    @Override
    public int await(long request) {
        int result = MpiNative.await(handle, request);
        if (result < 0) {
            throw MpiErrors.of(-result);
        }
        return result - 1;
    }

    /**
     * Lets the library send pending data of other ranks. It does so only during calls, and a rank
     * without operations makes no other calls.
     */
    @Override
    public JcclException asynchronousError() {
        check(MpiNative.progress());
        return null;
    }

    /** MPI can cancel neither collectives nor sends. */
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
    public synchronized void close() {
        if (!closed) {
            closed = true;
            check(MpiNative.close(handle));
        }
    }

    private static long check(long result) {
        if (result < 0) {
            throw MpiErrors.of((int) -result);
        }
        return result;
    }
}

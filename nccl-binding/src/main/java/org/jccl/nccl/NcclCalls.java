package org.jccl.nccl;

import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ReduceOp;

/**
 * NCCL's functions on one communicator, for the thread that is inside; closing it leaves. The
 * methods check result codes and allocate nothing. Counts are as in the SPI.
 */
final class NcclCalls implements AutoCloseable {

    private final NcclHandle handle;
    private final long communicator;

    /** Receives the operation of PREMUL_SUM. */
    private final Cell premul = new Cell();

    private final boolean float8 = NcclLibraries.get().hasFloat8();

    /** Open groups; only the end of the outermost one enqueues anything. */
    private int groups;

    NcclCalls(NcclHandle handle, long communicator) {
        this.handle = handle;
        this.communicator = communicator;
    }

    /** Leaves the communicator to other threads. */
    @Override
    public void close() {
        handle.leave();
    }

    /** Frees the memory to which calls write. */
    void free() {
        premul.close();
    }

    /** Returns whether a stream captures a CUDA graph. */
    boolean isCapturing(long on) {
        return CudaErrors.value(NcclNative.cudaStreamIsCapturing(on), "cudaStreamIsCapturing") != 0;
    }

    private void check(int code, String call) {
        if (code != NcclNative.SUCCESS && !(code == NcclNative.IN_PROGRESS && groups > 0)) {
            handle.settle(code, call);
        }
    }

    private int type(DataType type) {
        return NcclTypes.type(type, float8);
    }

    void broadcast(long input, long output, long count, DataType type, int root, long on) {
        check(
                NcclNative.broadcast(
                        input,
                        output,
                        NcclTypes.count(type, count),
                        type(type),
                        root,
                        communicator,
                        on),
                "ncclBroadcast");
    }

    /**
     * Returns NCCL's operation; for PREMUL_SUM a new one, which the caller passes to {@link
     * #release}.
     */
    int operation(ReduceOp op, DataType type) {
        if (op.kind() != ReduceOp.Kind.PREMUL_SUM) {
            return NcclTypes.op(op, type);
        }
        check(
                NcclNative.premulSumCreate(
                        premul.address(),
                        NcclTypes.scalarBits(op.factor(), type),
                        type(type),
                        communicator),
                "ncclRedOpCreatePreMulSum");
        return (int) premul.get();
    }

    /**
     * Releases an operation after the calls that use it. A failed communicator releases it itself.
     */
    void release(ReduceOp op, int operation) {
        if (op.kind() == ReduceOp.Kind.PREMUL_SUM) {
            check(NcclNative.redOpDestroy(operation, communicator), "ncclRedOpDestroy");
        }
    }

    void allReduce(long input, long output, long count, DataType type, int operation, long on) {
        check(
                NcclNative.allReduce(input, output, count, type(type), operation, communicator, on),
                "ncclAllReduce");
    }

    void reduce(
            long input, long output, long count, DataType type, int operation, int root, long on) {
        check(
                NcclNative.reduce(
                        input, output, count, type(type), operation, root, communicator, on),
                "ncclReduce");
    }

    void reduceScatter(long input, long output, long count, DataType type, int operation, long on) {
        check(
                NcclNative.reduceScatter(
                        input, output, count, type(type), operation, communicator, on),
                "ncclReduceScatter");
    }

    void allGather(long input, long output, long count, DataType type, long on) {
        check(
                NcclNative.allGather(
                        input, output, NcclTypes.count(type, count), type(type), communicator, on),
                "ncclAllGather");
    }

    /** Since 2.28. */
    void gather(long input, long output, long count, DataType type, int root, long on) {
        check(
                NcclNative.gather(
                        input,
                        output,
                        NcclTypes.count(type, count),
                        type(type),
                        root,
                        communicator,
                        on),
                "ncclGather");
    }

    /** Since 2.28. */
    void scatter(long input, long output, long count, DataType type, int root, long on) {
        check(
                NcclNative.scatter(
                        input,
                        output,
                        NcclTypes.count(type, count),
                        type(type),
                        root,
                        communicator,
                        on),
                "ncclScatter");
    }

    /** Since 2.28. */
    void allToAll(long input, long output, long count, DataType type, long on) {
        check(
                NcclNative.allToAll(
                        input, output, NcclTypes.count(type, count), type(type), communicator, on),
                "ncclAlltoAll");
    }

    /**
     * Divides the ranks, with all others of this communicator, and waits until that is done.
     *
     * @param color equal on the ranks of a new communicator
     * @param key place in it
     * @param child receives the new communicator; must stay open if this throws, because NCCL's job
     *     writes it at its end
     * @param config the address of the new communicator's
     */
    void split(int color, int key, Cell child, long config) {
        int code = NcclNative.commSplit(communicator, color, key, child.address(), config);
        // A non-blocking communicator returns success while its job is in progress.
        handle.settle(code == NcclNative.SUCCESS ? NcclNative.IN_PROGRESS : code, "ncclCommSplit");
    }

    /** Returns NCCL's handle; 0 if it does not use such memory here. */
    long register(long address, long bytes, boolean window) {
        // Not closed if this fails: the job of a communicator that does not block writes to it.
        Cell made = new Cell();
        check(
                NcclNative.register(communicator, address, bytes, window, made.address()),
                window ? "ncclCommWindowRegister" : "ncclCommRegister");
        long registered = made.get();
        made.close();
        return registered;
    }

    void deregister(boolean window, long registered) {
        // Not a job, also if the communicator does not block.
        NcclErrors.check(
                NcclNative.deregister(communicator, window, registered),
                window ? "ncclCommWindowDeregister" : "ncclCommDeregister");
    }

    /** Sends empty messages too, as PyTorch does: its ranks wait for them. */
    void send(long address, long count, DataType type, int peer, long on) {
        check(
                NcclNative.send(
                        address, NcclTypes.count(type, count), type(type), peer, communicator, on),
                "ncclSend");
    }

    /** Receives empty messages too, see {@link #send}. */
    void receive(long address, long count, DataType type, int peer, long on) {
        check(
                NcclNative.recv(
                        address, NcclTypes.count(type, count), type(type), peer, communicator, on),
                "ncclRecv");
    }

    void groupStart() {
        check(NcclNative.groupStart(), "ncclGroupStart");
        groups++;
    }

    /** Must follow each start in the same thread, unless a call between them has failed. */
    void groupEnd() {
        groups--;
        check(NcclNative.groupEnd(), "ncclGroupEnd");
    }

    /**
     * Ends a group in which a call has failed. That failure is reported, not the result of the end.
     */
    void groupEndAfter(Throwable first) {
        try {
            groupEnd();
        } catch (JcclException e) {
            first.addSuppressed(e);
        }
    }
}

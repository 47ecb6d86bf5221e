package org.jccl.nccl;

import org.bytedeco.cuda.global.cudart;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.cuda.nccl.ncclConfig_t;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerPointer;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.nccl.NativeHandles.Address;
import org.jccl.nccl.NativeHandles.StreamHandle;

/**
 * NCCL's functions on one communicator, checked and without garbage, for the thread that is inside;
 * closing it leaves. Counts are as in the SPI.
 */
final class NcclCalls implements AutoCloseable {

    private final NcclHandle handle;
    private final ncclComm communicator;
    private final Address send = new Address();
    private final Address receive = new Address();
    private final StreamHandle stream = new StreamHandle();
    private final IntPointer number = new IntPointer(1);
    private final LongPointer factor = new LongPointer(1);

    /** Open groups; only the end of the outermost one enqueues anything. */
    private int groups;

    NcclCalls(NcclHandle handle, ncclComm communicator) {
        this.handle = handle;
        this.communicator = communicator;
    }

    /** Leaves the communicator to other threads. */
    @Override
    public void close() {
        handle.leave();
    }

    /** Frees what calls pass their arguments in. */
    void free() {
        number.close();
        factor.close();
    }

    /** Whether a stream captures a CUDA graph. */
    boolean isCapturing(long on) {
        CudaErrors.check(
                cudart.cudaStreamIsCapturing(stream.at(on), number), "cudaStreamIsCapturing");
        return number.get() != cudart.cudaStreamCaptureStatusNone;
    }

    private void check(int code, String call) {
        if (code != nccl.ncclSuccess && !(code == nccl.ncclInProgress && groups > 0)) {
            handle.settle(code, call);
        }
    }

    void broadcast(long input, long output, long count, DataType type, int root, long on) {
        check(
                nccl.ncclBroadcast(
                        send.at(input),
                        receive.at(output),
                        NcclTypes.count(type, count),
                        NcclTypes.type(type),
                        root,
                        communicator,
                        stream.at(on)),
                "ncclBroadcast");
    }

    /** NCCL's operation; for PREMUL_SUM one is made, to be given to {@link #release}. */
    int operation(ReduceOp op, DataType type) {
        if (op.kind() != ReduceOp.Kind.PREMUL_SUM) {
            return NcclTypes.op(op, type);
        }
        factor.put(NcclTypes.scalarBits(op.factor(), type));
        check(
                nccl.ncclRedOpCreatePreMulSum(
                        number,
                        factor,
                        NcclTypes.type(type),
                        nccl.ncclScalarHostImmediate,
                        communicator),
                "ncclRedOpCreatePreMulSum");
        return number.get();
    }

    /** After the calls that use the operation; a communicator that failed takes it along. */
    void release(ReduceOp op, int operation) {
        if (op.kind() == ReduceOp.Kind.PREMUL_SUM) {
            check(nccl.ncclRedOpDestroy(operation, communicator), "ncclRedOpDestroy");
        }
    }

    void allReduce(long input, long output, long count, DataType type, int operation, long on) {
        check(
                nccl.ncclAllReduce(
                        send.at(input),
                        receive.at(output),
                        count,
                        NcclTypes.type(type),
                        operation,
                        communicator,
                        stream.at(on)),
                "ncclAllReduce");
    }

    void reduce(
            long input, long output, long count, DataType type, int operation, int root, long on) {
        check(
                nccl.ncclReduce(
                        send.at(input),
                        receive.at(output),
                        count,
                        NcclTypes.type(type),
                        operation,
                        root,
                        communicator,
                        stream.at(on)),
                "ncclReduce");
    }

    void reduceScatter(long input, long output, long count, DataType type, int operation, long on) {
        check(
                nccl.ncclReduceScatter(
                        send.at(input),
                        receive.at(output),
                        count,
                        NcclTypes.type(type),
                        operation,
                        communicator,
                        stream.at(on)),
                "ncclReduceScatter");
    }

    void allGather(long input, long output, long count, DataType type, long on) {
        check(
                nccl.ncclAllGather(
                        send.at(input),
                        receive.at(output),
                        NcclTypes.count(type, count),
                        NcclTypes.type(type),
                        communicator,
                        stream.at(on)),
                "ncclAllGather");
    }

    /** Since 2.28. */
    void gather(long input, long output, long count, DataType type, int root, long on) {
        check(
                nccl.ncclGather(
                        send.at(input),
                        receive.at(output),
                        NcclTypes.count(type, count),
                        NcclTypes.type(type),
                        root,
                        communicator,
                        stream.at(on)),
                "ncclGather");
    }

    /** Since 2.28. */
    void scatter(long input, long output, long count, DataType type, int root, long on) {
        check(
                nccl.ncclScatter(
                        send.at(input),
                        receive.at(output),
                        NcclTypes.count(type, count),
                        NcclTypes.type(type),
                        root,
                        communicator,
                        stream.at(on)),
                "ncclScatter");
    }

    /** Since 2.28. */
    void allToAll(long input, long output, long count, DataType type, long on) {
        check(
                nccl.ncclAlltoAll(
                        send.at(input),
                        receive.at(output),
                        NcclTypes.count(type, count),
                        NcclTypes.type(type),
                        communicator,
                        stream.at(on)),
                "ncclAlltoAll");
    }

    /**
     * Divides the ranks, with all others of this communicator, and waits until that is done.
     *
     * @param color equal on the ranks of a new communicator, or NCCL_SPLIT_NOCOLOR
     * @param key place in it
     * @param child receives the new communicator, or null without a color; must stay valid if this
     *     throws, because NCCL's job writes it at its end
     * @param settings of the new communicator, or null to take over this one's
     */
    void split(int color, int key, PointerPointer<ncclComm> child, ncclConfig_t settings) {
        int code = nccl.ncclCommSplit(communicator, color, key, child, settings);
        // A communicator that does not block answers success while its job is under way.
        handle.settle(code == nccl.ncclSuccess ? nccl.ncclInProgress : code, "ncclCommSplit");
    }

    /** Both sides know the count, so neither issues an empty message. */
    void send(long address, long count, DataType type, int peer, long on) {
        if (count > 0) {
            check(
                    nccl.ncclSend(
                            send.at(address),
                            NcclTypes.count(type, count),
                            NcclTypes.type(type),
                            peer,
                            communicator,
                            stream.at(on)),
                    "ncclSend");
        }
    }

    /** Both sides know the count, so neither issues an empty message. */
    void receive(long address, long count, DataType type, int peer, long on) {
        if (count > 0) {
            check(
                    nccl.ncclRecv(
                            receive.at(address),
                            NcclTypes.count(type, count),
                            NcclTypes.type(type),
                            peer,
                            communicator,
                            stream.at(on)),
                    "ncclRecv");
        }
    }

    void groupStart() {
        check(nccl.ncclGroupStart(), "ncclGroupStart");
        groups++;
    }

    /** Must follow each start in the same thread, unless a call between them has failed. */
    void groupEnd() {
        groups--;
        check(nccl.ncclGroupEnd(), "ncclGroupEnd");
    }

    /** Ends a group in which something has failed, which says more than what the end answers. */
    void groupEndAfter(Throwable first) {
        try {
            groupEnd();
        } catch (JcclException e) {
            first.addSuppressed(e);
        }
    }
}

package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.List;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.spi.support.MessageBatch.Message;

/**
 * HCCL's functions on one communicator, for the thread that was admitted; closing it admits others.
 * The methods check result codes and make no garbage. Counts are numbers of elements. Operations go
 * to the stream of {@link #begin}; HCCL rejects the default stream.
 */
final class HcclCalls implements AutoCloseable {

    static final int ITEM_BYTES = 32;
    static final int ITEM_BUFFER = 8;
    static final int ITEM_COUNT = 16;
    static final int ITEM_TYPE = 24;
    static final int ITEM_PEER = 28;

    private final HcclHandle handle;
    private final CannRuntime runtime;
    private final long communicator;
    private final int size;
    private final Chip chip;

    /** Input counts, input displacements, output counts, output displacements. */
    private final Memory counts;

    private final long[] displacements;
    private Memory matrix;
    private Memory items;
    private int itemRoom;

    private long stream;

    HcclCalls(HcclHandle handle, CannRuntime runtime, long communicator, int size, Chip chip) {
        this.handle = handle;
        this.runtime = runtime;
        this.communicator = communicator;
        this.size = size;
        this.chip = chip;
        this.counts = new Memory(4L * size * Long.BYTES);
        this.displacements = new long[size];
    }

    /** Issues operations to a stream from now on. */
    void begin(long on) {
        stream = on;
    }

    /** Leaves the communicator to other threads. */
    @Override
    public void close() {
        handle.leave();
    }

    /** Frees the memory for arguments. The device must not use it any more. */
    void free() {
        counts.close();
        if (matrix != null) {
            matrix.close();
        }
        if (items != null) {
            items.close();
        }
    }

    /** The stream to which operations are issued. */
    long stream() {
        return stream;
    }

    private void check(int code, String call) {
        if (code != Hccl.SUCCESS) {
            throw handle.failure(code, call);
        }
    }

    private int moved(DataType type) {
        return HcclTypes.moved(type, chip);
    }

    /** Copies within the device; does nothing if both addresses are the same. */
    void copy(long from, long to, long bytes) {
        if (from != to && bytes > 0) {
            runtime.copy(to, from, bytes, org.jccl.spi.DeviceRuntime.Copy.DEVICE_TO_DEVICE, stream);
        }
    }

    void broadcast(long buffer, long count, DataType type, int root) {
        check(
                Hccl.HcclBroadcast(buffer, count, moved(type), root, communicator, stream),
                "HcclBroadcast");
    }

    void allReduce(long input, long output, long count, DataType type, ReduceOp.Kind kind) {
        check(
                Hccl.HcclAllReduce(
                        input,
                        output,
                        count,
                        HcclTypes.number(type),
                        HcclTypes.operation(kind),
                        communicator,
                        stream),
                "HcclAllReduce");
    }

    /** Every rank needs memory for the output, although only the root gets a result. */
    void reduce(long input, long output, long count, DataType type, ReduceOp.Kind kind, int root) {
        check(
                Hccl.HcclReduce(
                        input,
                        output,
                        count,
                        HcclTypes.number(type),
                        HcclTypes.operation(kind),
                        root,
                        communicator,
                        stream),
                "HcclReduce");
    }

    void reduceScatter(long input, long output, long count, DataType type, ReduceOp.Kind kind) {
        check(
                Hccl.HcclReduceScatter(
                        input,
                        output,
                        count,
                        HcclTypes.number(type),
                        HcclTypes.operation(kind),
                        communicator,
                        stream),
                "HcclReduceScatter");
    }

    /** No part may be empty, because its rank would not take part. */
    void reduceScatterV(
            long input, long[] parts, long output, int rank, DataType type, ReduceOp.Kind kind) {
        long inputCounts = putCounts(0, parts);
        check(
                Hccl.HcclReduceScatterV(
                        input,
                        inputCounts,
                        displacementsOf(inputCounts),
                        output,
                        parts[rank],
                        HcclTypes.number(type),
                        HcclTypes.operation(kind),
                        communicator,
                        stream),
                "HcclReduceScatterV");
    }

    void allGather(long input, long output, long count, DataType type) {
        check(
                Hccl.HcclAllGather(input, output, count, moved(type), communicator, stream),
                "HcclAllGather");
    }

    /** No part may be empty, because its rank would not take part. */
    void allGatherV(long input, long output, long[] parts, int rank, DataType type) {
        long outputCounts = putCounts(0, parts);
        check(
                Hccl.HcclAllGatherV(
                        input,
                        parts[rank],
                        output,
                        outputCounts,
                        displacementsOf(outputCounts),
                        moved(type),
                        communicator,
                        stream),
                "HcclAllGatherV");
    }

    void scatter(long input, long output, long count, DataType type, int root) {
        check(
                Hccl.HcclScatter(input, output, count, moved(type), root, communicator, stream),
                "HcclScatter");
    }

    void allToAll(long input, long output, long count, DataType type) {
        int moved = moved(type);
        check(
                Hccl.HcclAlltoAll(input, count, moved, output, count, moved, communicator, stream),
                "HcclAlltoAll");
    }

    void allToAllV(long input, long output, long[] inputParts, long[] outputParts, DataType type) {
        long inputCounts = putCounts(0, inputParts);
        long outputCounts = putCounts(2, outputParts);
        int moved = moved(type);
        check(
                Hccl.HcclAlltoAllV(
                        input,
                        inputCounts,
                        displacementsOf(inputCounts),
                        moved,
                        output,
                        outputCounts,
                        displacementsOf(outputCounts),
                        moved,
                        communicator,
                        stream),
                "HcclAlltoAllV");
    }

    /**
     * Sends the same number of elements from each rank to one, with a matrix that all ranks know.
     */
    void allToOne(long input, long output, long count, DataType type, int root) {
        if (matrix == null) {
            matrix = new Memory((long) size * size * Long.BYTES);
            matrix.clear();
        }
        int moved = moved(type);
        putColumn(root, count);
        try {
            check(
                    Hccl.HcclAlltoAllVC(
                            input,
                            Pointer.nativeValue(matrix),
                            moved,
                            output,
                            moved,
                            communicator,
                            stream),
                    "HcclAlltoAllVC");
        } finally {
            putColumn(root, 0);
        }
    }

    private void putColumn(int column, long count) {
        for (int row = 0; row < size; row++) {
            matrix.setLong(((long) row * size + column) * Long.BYTES, count);
        }
    }

    void issue(Message message) {
        if (message.receives()) {
            receive(message.address(), message.count(), message.type(), message.peer());
        } else {
            send(message.address(), message.count(), message.type(), message.peer());
        }
    }

    void send(long buffer, long count, DataType type, int peer) {
        check(Hccl.HcclSend(buffer, count, moved(type), peer, communicator, stream), "HcclSend");
    }

    void receive(long buffer, long count, DataType type, int peer) {
        check(Hccl.HcclRecv(buffer, count, moved(type), peer, communicator, stream), "HcclRecv");
    }

    /** Starts messages together. */
    void exchange(List<Message> messages) {
        int count = messages.size();
        if (count > itemRoom) {
            itemRoom = Math.max(count, 2 * itemRoom);
            Memory larger = new Memory((long) itemRoom * ITEM_BYTES);
            larger.clear();
            if (items != null) {
                items.close();
            }
            items = larger;
        }
        for (int i = 0; i < count; i++) {
            long item = (long) i * ITEM_BYTES;
            Message message = messages.get(i);
            items.setInt(item, message.receives() ? 1 : 0);
            items.setLong(item + ITEM_BUFFER, message.address());
            items.setLong(item + ITEM_COUNT, message.count());
            items.setInt(item + ITEM_TYPE, moved(message.type()));
            items.setInt(item + ITEM_PEER, message.peer());
        }
        check(
                Hccl.HcclBatchSendRecv(Pointer.nativeValue(items), count, communicator, stream),
                "HcclBatchSendRecv");
    }

    /**
     * Writes counts and displacements to two of the four rows; returns the address of the first.
     */
    private long putCounts(int row, long[] parts) {
        long begin = 0;
        for (int i = 0; i < size; i++) {
            displacements[i] = begin;
            begin += parts[i];
        }
        long offset = (long) row * size * Long.BYTES;
        counts.write(offset, parts, 0, size);
        counts.write(offset + (long) size * Long.BYTES, displacements, 0, size);
        return Pointer.nativeValue(counts) + offset;
    }

    private long displacementsOf(long row) {
        return row + (long) size * Long.BYTES;
    }
}

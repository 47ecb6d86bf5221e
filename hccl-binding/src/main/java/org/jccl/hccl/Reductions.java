package org.jccl.hccl;

import java.util.Arrays;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * The reductions of one communicator. HCCL has sum, product, minimum and maximum of some types. An
 * average is a scaled sum; of 16-bit types it is a sum of scaled inputs, because the sum of the
 * inputs may overflow. Bool is reduced as int8. For the thread that was admitted to the
 * communicator.
 */
final class Reductions {

    private final int rank;
    private final int size;
    private final Chip chip;
    private final DeviceScratch scratch;
    private final Operators operators;

    Reductions(int rank, int size, Chip chip, HcclLibraries libraries, DeviceScratch scratch) {
        this.rank = rank;
        this.size = size;
        this.chip = chip;
        this.scratch = scratch;
        this.operators = new Operators(libraries.runtime());
    }

    /** Frees the memory. The device is current and does not use it any more. */
    void close() {
        operators.close();
    }

    void allReduce(
            HcclCalls calls, long input, long output, long count, DataType type, ReduceOp op) {
        long from = scalesFirst(op, type) ? scaled(calls, input, output, count, type) : input;
        calls.allReduce(from, output, count, HcclTypes.reduced(type), HcclTypes.kind(op, type));
        finish(calls, output, count, type, op);
    }

    void reduce(
            HcclCalls calls,
            long input,
            long output,
            long count,
            DataType type,
            ReduceOp op,
            int root) {
        DataType reduced = HcclTypes.reduced(type);
        ReduceOp.Kind kind = HcclTypes.kind(op, type);
        boolean scales = scalesFirst(op, type);
        if (rank == root) {
            long from = scales ? scaled(calls, input, output, count, type) : input;
            calls.reduce(from, output, count, reduced, kind, root);
            finish(calls, output, count, type, op);
            return;
        }
        // HCCL requires an output on every rank, and must not change the inputs of the others.
        long unused = scratch.take(count * type.size(), calls.stream());
        long from = scales ? scaled(calls, input, unused, count, type) : input;
        calls.reduce(from, unused, count, reduced, kind, root);
        scratch.release(calls.stream());
    }

    void reduceScatter(
            HcclCalls calls, long input, long output, long count, DataType type, ReduceOp op) {
        DataType reduced = HcclTypes.reduced(type);
        ReduceOp.Kind kind = HcclTypes.kind(op, type);
        long bytes = count * type.size();
        if (scalesFirst(op, type)) {
            long room = scratch.take(size * bytes, calls.stream());
            scaled(calls, input, room, size * count, type);
            calls.reduceScatter(room, output, count, reduced, kind);
            scratch.release(calls.stream());
            return;
        }
        if (output == input + rank * bytes) {
            // HCCL does not document whether it reduces to a part of its input.
            long room = scratch.take(bytes, calls.stream());
            calls.reduceScatter(input, room, count, reduced, kind);
            calls.copy(room, output, bytes);
            scratch.release(calls.stream());
        } else {
            calls.reduceScatter(input, output, count, reduced, kind);
        }
        finish(calls, output, count, type, op);
    }

    /**
     * Makes one native call if the device has one for any placement, else a reduction for each
     * part.
     */
    void reduceScatterV(
            HcclCalls calls, long input, long output, long[] counts, DataType type, ReduceOp op) {
        DataType reduced = HcclTypes.reduced(type);
        ReduceOp.Kind kind = HcclTypes.kind(op, type);
        if (isNative(counts, reduced, kind)) {
            reduceToParts(calls, input, output, counts, reduced, kind, scalesFirst(op, type));
        } else {
            boolean scales = scalesFirst(op, type);
            long most = Arrays.stream(counts).max().orElse(0) * type.size();
            long all = scales ? Arrays.stream(counts).sum() : 0;
            long unused = scratch.take(most + all * type.size(), calls.stream());
            long part = scales ? scaled(calls, input, unused + most, all, type) : input;
            for (int root = 0; root < size; root++) {
                if (counts[root] > 0) {
                    long to = root == rank ? output : unused;
                    calls.reduce(part, to, counts[root], reduced, kind, root);
                }
                part += counts[root] * type.size();
            }
            scratch.release(calls.stream());
        }
        finish(calls, output, counts[rank], type, op);
    }

    private void reduceToParts(
            HcclCalls calls,
            long input,
            long output,
            long[] counts,
            DataType type,
            ReduceOp.Kind kind,
            boolean scales) {
        if (scales) {
            long all = Arrays.stream(counts).sum();
            long room = scratch.take(all * type.size(), calls.stream());
            scaled(calls, input, room, all, type);
            calls.reduceScatterV(room, counts, output, rank, type, kind);
            scratch.release(calls.stream());
            return;
        }
        if (!isOwnPart(output, input, counts, type)) {
            calls.reduceScatterV(input, counts, output, rank, type, kind);
            return;
        }
        long bytes = counts[rank] * type.size();
        long room = scratch.take(bytes, calls.stream());
        calls.reduceScatterV(input, counts, room, rank, type, kind);
        calls.copy(room, output, bytes);
        scratch.release(calls.stream());
    }

    private boolean isOwnPart(long output, long input, long[] counts, DataType type) {
        long own = input;
        for (int i = 0; i < rank; i++) {
            own += counts[i] * type.size();
        }
        return output == own;
    }

    private boolean isNative(long[] counts, DataType type, ReduceOp.Kind kind) {
        return chip.has("HcclReduceScatterV")
                && chip.reducesToParts(kind, type)
                && Arrays.stream(counts).allMatch(count -> count > 0);
    }

    private static boolean scalesFirst(ReduceOp op, DataType type) {
        return op.kind() == ReduceOp.Kind.AVG
                && (type == DataType.FLOAT16 || type == DataType.BFLOAT16);
    }

    /** Returns {@code room} with the inputs, each divided by the number of ranks. */
    private long scaled(HcclCalls calls, long input, long room, long count, DataType type) {
        if (count > 0) {
            calls.copy(input, room, count * type.size());
            operators.scale(room, count, type, 1.0 / size, calls.stream());
        }
        return room;
    }

    private void finish(HcclCalls calls, long output, long count, DataType type, ReduceOp op) {
        if (count > 0 && op.kind() == ReduceOp.Kind.AVG && !scalesFirst(op, type)) {
            operators.scale(output, count, type, 1.0 / size, calls.stream());
        }
    }
}

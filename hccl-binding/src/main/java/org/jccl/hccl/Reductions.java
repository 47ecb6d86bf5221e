package org.jccl.hccl;

import java.util.Arrays;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * The reductions of one communicator. HCCL has sum, product, minimum and maximum of some types. An
 * average is a scaled sum, and bool is reduced as int8. For the thread that was admitted to the
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
        calls.allReduce(input, output, count, HcclTypes.reduced(type), HcclTypes.kind(op, type));
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
        if (rank == root) {
            calls.reduce(input, output, count, reduced, kind, root);
            finish(calls, output, count, type, op);
            return;
        }
        // HCCL requires an output on every rank, and must not change the inputs of the others.
        long unused = scratch.take(count * type.size(), calls.stream());
        calls.reduce(input, unused, count, reduced, kind, root);
        scratch.release(calls.stream());
    }

    void reduceScatter(
            HcclCalls calls, long input, long output, long count, DataType type, ReduceOp op) {
        DataType reduced = HcclTypes.reduced(type);
        ReduceOp.Kind kind = HcclTypes.kind(op, type);
        long bytes = count * type.size();
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
            reduceToParts(calls, input, output, counts, reduced, kind);
        } else {
            long most = Arrays.stream(counts).max().orElse(0);
            long unused = scratch.take(most * type.size(), calls.stream());
            long part = input;
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
            ReduceOp.Kind kind) {
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

    private void finish(HcclCalls calls, long output, long count, DataType type, ReduceOp op) {
        if (count > 0 && op.kind() == ReduceOp.Kind.AVG) {
            operators.scale(output, count, type, 1.0 / size, calls.stream());
        }
    }
}

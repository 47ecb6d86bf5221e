package org.jccl.hccl;

import java.util.Arrays;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * The reductions of one communicator. HCCL has sum, product, minimum and maximum of some types. The
 * others are built from these: an average is a scaled sum, uint8 is reduced as int32, and bool as
 * int8. For the thread that was admitted to the communicator.
 */
final class Reductions {

    private final int rank;
    private final int size;
    private final Chip chip;
    private final boolean nativeReduce;
    private final boolean nativeParts;
    private final DeviceScratch scratch;
    private final Operators operators;
    private boolean taken;

    Reductions(int rank, int size, Chip chip, HcclLibraries libraries, DeviceScratch scratch) {
        this.rank = rank;
        this.size = size;
        this.chip = chip;
        this.nativeReduce = libraries.offers("HcclReduce");
        this.nativeParts = libraries.offers("HcclReduceScatterV");
        this.scratch = scratch;
        this.operators = new Operators(libraries.runtime());
    }

    /** Frees the memory. The device is current and does not use it any more. */
    void close() {
        operators.close();
    }

    void allReduce(
            HcclCalls calls, long input, long output, long count, DataType type, ReduceOp op) {
        long room = isWidened(type) ? take(calls, count, type) : output;
        long from = converts(type, op) ? convert(calls, input, room, count, type, op) : input;
        calls.allReduce(from, room, count, HcclTypes.reduced(type), HcclTypes.kind(op, type));
        finish(calls, room, output, count, type, op);
        release(calls);
    }

    void reduce(
            HcclCalls calls,
            long input,
            long output,
            long count,
            DataType type,
            ReduceOp op,
            int root) {
        // HCCL requires an output on every rank, and must not change the inputs of the others.
        boolean direct = rank == root && !isWidened(type);
        long room = direct ? output : take(calls, count, type);
        long from = converts(type, op) ? convert(calls, input, room, count, type, op) : input;
        reduceTo(calls, from, room, count, HcclTypes.reduced(type), HcclTypes.kind(op, type), root);
        if (rank == root) {
            finish(calls, room, output, count, type, op);
        }
        release(calls);
    }

    private void reduceTo(
            HcclCalls calls,
            long input,
            long output,
            long count,
            DataType type,
            ReduceOp.Kind kind,
            int root) {
        if (nativeReduce) {
            calls.reduce(input, output, count, type, kind, root);
        } else {
            calls.allReduce(input, output, count, type, kind);
        }
    }

    void reduceScatter(
            HcclCalls calls, long input, long output, long count, DataType type, ReduceOp op) {
        long total = count * size;
        boolean converts = converts(type, op);
        boolean inPlace = !converts && output == input + rank * bytes(count, type);
        long rooms = (converts ? total : 0) + (isWidened(type) || inPlace ? count : 0);
        long converted = take(calls, rooms, type);
        long from = converts ? convert(calls, input, converted, total, type, op) : input;
        long room = isWidened(type) ? converted + bytes(total, type) : inPlace ? converted : output;
        calls.reduceScatter(from, room, count, HcclTypes.reduced(type), HcclTypes.kind(op, type));
        if (inPlace) {
            // HCCL does not document whether it reduces to a part of its input.
            calls.copy(room, output, bytes(count, type));
        }
        finish(calls, room, output, count, type, op);
        release(calls);
    }

    /** A native call if the device has one for any placement, or else a reduction for each part. */
    void reduceScatterV(
            HcclCalls calls, long input, long output, long[] counts, DataType type, ReduceOp op) {
        long total = Arrays.stream(counts).sum();
        long mine = counts[rank];
        boolean converts = converts(type, op);
        long rooms = (converts ? total : 0) + (isWidened(type) ? mine : 0);
        boolean direct = isNative(counts, type, op);
        boolean inPlace = direct && !converts && isOwnPart(output, input, counts, type);
        if (inPlace) {
            rooms += mine;
        } else if (!direct) {
            rooms += Arrays.stream(counts).max().orElse(0);
        }
        long converted = take(calls, rooms, type);
        long from = converts ? convert(calls, input, converted, total, type, op) : input;
        long next = converts ? converted + bytes(total, type) : converted;
        long room = isWidened(type) || inPlace ? next : output;
        long unused = isWidened(type) ? next + bytes(mine, type) : next;
        DataType reduced = HcclTypes.reduced(type);
        ReduceOp.Kind kind = HcclTypes.kind(op, type);
        if (direct) {
            calls.reduceScatterV(from, counts, room, rank, reduced, kind);
            if (inPlace) {
                calls.copy(room, output, bytes(mine, type));
            }
        } else {
            long part = from;
            for (int root = 0; root < size; root++) {
                if (counts[root] > 0) {
                    long to = root == rank ? room : unused;
                    reduceTo(calls, part, to, counts[root], reduced, kind, root);
                }
                part += bytes(counts[root], type);
            }
        }
        finish(calls, room, output, mine, type, op);
        release(calls);
    }

    private boolean isOwnPart(long output, long input, long[] counts, DataType type) {
        long own = input;
        for (int i = 0; i < rank; i++) {
            own += bytes(counts[i], type);
        }
        return output == own;
    }

    private boolean isNative(long[] counts, DataType type, ReduceOp op) {
        return nativeParts
                && chip.reducesToParts(HcclTypes.kind(op, type), HcclTypes.reduced(type))
                && Arrays.stream(counts).allMatch(count -> count > 0);
    }

    private static boolean isWidened(DataType type) {
        return type == DataType.UINT8;
    }

    /** Whether the input must be converted before it is reduced. */
    private static boolean converts(DataType type, ReduceOp op) {
        return isWidened(type) || op.kind() == ReduceOp.Kind.PREMUL_SUM;
    }

    private static long bytes(long count, DataType type) {
        return count * HcclTypes.reduced(type).size();
    }

    /** Scratch memory for elements of the type in which a type is reduced, until the release. */
    private long take(HcclCalls calls, long count, DataType type) {
        if (count == 0) {
            return 0;
        }
        taken = true;
        return scratch.take(bytes(count, type), calls.stream());
    }

    private void release(HcclCalls calls) {
        if (taken) {
            taken = false;
            scratch.release(calls.stream());
        }
    }

    private long convert(
            HcclCalls calls, long input, long to, long count, DataType type, ReduceOp op) {
        if (isWidened(type)) {
            operators.convert(input, type, to, HcclTypes.reduced(type), count, calls.stream());
        } else {
            operators.scale(input, to, count, type, op.factor(), calls.stream());
        }
        return to;
    }

    private void finish(
            HcclCalls calls, long result, long output, long count, DataType type, ReduceOp op) {
        if (count == 0) {
            return;
        }
        if (isWidened(type)) {
            operators.convert(result, HcclTypes.reduced(type), output, type, count, calls.stream());
        } else if (op.kind() == ReduceOp.Kind.AVG) {
            operators.scale(output, output, count, type, 1.0 / size, calls.stream());
        }
    }
}

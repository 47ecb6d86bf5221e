package org.jccl.cli.bench;

import java.util.Objects;
import java.util.Optional;
import java.util.function.DoubleBinaryOperator;
import java.util.function.IntToDoubleFunction;
import java.util.function.LongBinaryOperator;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * Test data: what each rank puts in, and what must come out. Values are small whole numbers, so
 * that sums are exact in every type, and repeat after {@link #PERIOD} elements, so that large
 * tensors are filled and checked by comparing arrays.
 */
final class Pattern {

    /** A multiple of the lengths after which the values of any operation repeat: 2, 4 and 127. */
    static final int PERIOD = 508;

    /** What no operation gives, to be overwritten by the result. */
    static final double POISON = 126.0;

    private static final int CHUNK = PERIOD * 64;

    private final DataType type;
    private final Optional<ReduceOp> op;
    private final int ranks;

    /**
     * Describes the data of one operation.
     *
     * @param op empty when the operation only moves data
     */
    Pattern(DataType type, Optional<ReduceOp> op, int ranks) {
        this.type = type;
        this.op = op;
        this.ranks = ranks;
    }

    /** What a rank puts at an index of its input. */
    double input(int rank, long index) {
        long mixed = 31L * rank + index + 1;
        if (type == DataType.BOOL) {
            return mixed % 2;
        }
        if (op.isEmpty()) {
            return mixed % 127 % 126;
        }
        return switch (op.get().kind()) {
            case SUM, AVG, PREMUL_SUM -> mixed % 4;
            case PRODUCT -> 1 + mixed % 2;
            case MIN, MAX, BAND, BOR, BXOR -> mixed % 127;
        };
    }

    /** What a reduction of all ranks' inputs gives at an index. */
    double reduced(long index) {
        return switch (op.orElseThrow().kind()) {
            case SUM -> fold(index, Double::sum);
            case AVG -> fold(index, Double::sum) / ranks;
            case PREMUL_SUM -> fold(index, Double::sum) * op.get().factor();
            case PRODUCT -> fold(index, (a, b) -> a * b);
            case MIN -> fold(index, Math::min);
            case MAX -> fold(index, Math::max);
            case BAND -> bits(index, (a, b) -> a & b);
            case BOR -> bits(index, (a, b) -> a | b);
            case BXOR -> bits(index, (a, b) -> a ^ b);
        };
    }

    private double fold(long index, DoubleBinaryOperator combine) {
        double result = input(0, index);
        for (int rank = 1; rank < ranks; rank++) {
            result = combine.applyAsDouble(result, input(rank, index));
        }
        return result;
    }

    private double bits(long index, LongBinaryOperator combine) {
        return fold(index, (a, b) -> combine.applyAsLong((long) a, (long) b));
    }

    /** Writes values to all of a tensor. */
    void fill(Tensor tensor, IntToDoubleFunction values) {
        Object whole = chunk(values, (int) Math.min(CHUNK, tensor.count()));
        for (long done = 0; done < tensor.count(); done += CHUNK) {
            int length = (int) Math.min(CHUNK, tensor.count() - done);
            Object part = length < CHUNK ? chunk(values, length) : whole;
            tensor.slice(done, length).copyFrom(part);
        }
    }

    /** Counts the elements of a tensor that are not as expected. */
    long wrong(Tensor tensor, IntToDoubleFunction expected) {
        Object whole = chunk(expected, (int) Math.min(CHUNK, tensor.count()));
        long wrong = 0;
        for (long done = 0; done < tensor.count(); done += CHUNK) {
            int length = (int) Math.min(CHUNK, tensor.count() - done);
            Object wanted = length < CHUNK ? chunk(expected, length) : whole;
            Object found = Elements.newArray(type, length);
            tensor.slice(done, length).copyTo(found);
            if (!Objects.deepEquals(found, wanted)) {
                wrong += differences(found, wanted, length);
            }
        }
        return wrong;
    }

    private long differences(Object found, Object wanted, int length) {
        long wrong = 0;
        for (int i = 0; i < length; i++) {
            double value = Elements.get(type, found, i);
            double expected = Elements.get(type, wanted, i);
            // A difference of infinities is no number, and one from a NaN must count as wrong.
            if (value != expected && !(Math.abs(value - expected) <= tolerance(expected))) {
                wrong++;
            }
        }
        return wrong;
    }

    /** Only averages are rounded, and sums of more ranks than the fraction's bits can count. */
    private double tolerance(double expected) {
        double epsilon = Elements.epsilon(type);
        boolean exact =
                op.isEmpty()
                        || switch (op.get().kind()) {
                            case AVG, PREMUL_SUM -> false;
                            case SUM -> 3.0 * ranks * epsilon <= 1;
                            default -> true;
                        };
        return exact ? 0 : ranks * epsilon * Math.abs(expected);
    }

    private Object chunk(IntToDoubleFunction values, int length) {
        Object array = Elements.newArray(type, length);
        for (int i = 0; i < length && i < PERIOD; i++) {
            Elements.set(type, array, i, values.applyAsDouble(i));
        }
        for (int filled = PERIOD; filled < length; filled += PERIOD) {
            System.arraycopy(array, 0, array, filled, Math.min(PERIOD, length - filled));
        }
        return array;
    }
}

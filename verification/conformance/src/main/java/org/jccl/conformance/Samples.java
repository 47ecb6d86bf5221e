package org.jccl.conformance;

import java.util.function.LongBinaryOperator;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * Inputs of reductions and what must come out, in integers. All inputs, intermediate and final
 * results are exact in their type, whatever the order of the ranks.
 */
final class Samples {

    private Samples() {}

    /** Factor of PREMUL_SUM: exact in every floating point type. */
    static final double FACTOR = 0.5;

    static long[] inputs(DataType type, ReduceOp op, int rank, int size, int count) {
        long[] values = new long[count];
        for (int i = 0; i < count; i++) {
            values[i] = input(type, op, rank, size, i);
        }
        return values;
    }

    private static long input(DataType type, ReduceOp op, int rank, int size, int i) {
        int varied = (rank * 7 + i * 3) % 13;
        if (type == DataType.BOOL) {
            return (rank + i) % 3 == 0 ? 1 : i % 2;
        }
        return switch (op.kind()) {
            case SUM -> large(type) + varied;
            case AVG -> (long) size * (varied - 6);
            case PREMUL_SUM -> 2 * (varied - 6);
            case PRODUCT -> factor(type, varied);
            case MIN, MAX -> type == DataType.UINT8 ? 250 - 19 * varied : 19 * (varied - 6);
            case BAND, BOR, BXOR -> bits(type, rank, i);
        };
    }

    /** Uses the bits that a detour over a narrower type would lose; five of them can be added. */
    private static long large(DataType type) {
        return switch (type) {
            case INT16 -> -4000;
            case INT32 -> 1 << 28;
            case INT64 -> 1L << 60;
            case FLOAT32 -> 1 << 20;
            case FLOAT64 -> 1L << 48;
            case FLOAT16 -> 300;
            case UINT8 -> 35;
            default -> -3;
        };
    }

    private static long factor(DataType type, int varied) {
        return varied % 3 == 0 && type != DataType.UINT8 ? -1 : 1 + varied % 2;
    }

    private static long bits(DataType type, int rank, int i) {
        long mixed = (rank + 1) * 0x9e3779b97f4a7c15L + i * 0xbf58476d1ce4e5b9L;
        mixed ^= mixed >>> 29;
        return switch (type) {
            case INT8 -> (byte) mixed;
            case UINT8 -> mixed & 0xff;
            case INT16 -> (short) mixed;
            case INT32 -> (int) mixed;
            default -> mixed;
        };
    }

    /** What a reduction over all ranks gives. */
    static long[] reduced(DataType type, ReduceOp op, int size, int count) {
        long[] result = inputs(type, op, 0, size, count);
        LongBinaryOperator step = step(type, op);
        for (int rank = 1; rank < size; rank++) {
            long[] next = inputs(type, op, rank, size, count);
            for (int i = 0; i < count; i++) {
                result[i] = step.applyAsLong(result[i], next[i]);
            }
        }
        for (int i = 0; i < count; i++) {
            if (op.kind() == ReduceOp.Kind.AVG) {
                result[i] /= size;
            } else if (op.kind() == ReduceOp.Kind.PREMUL_SUM) {
                result[i] /= 2;
            }
        }
        return result;
    }

    private static LongBinaryOperator step(DataType type, ReduceOp op) {
        return switch (op.kind()) {
            case SUM -> type == DataType.BOOL ? Math::max : Long::sum;
            case AVG, PREMUL_SUM -> Long::sum;
            case PRODUCT -> (a, b) -> a * b;
            case MIN -> Math::min;
            case MAX -> Math::max;
            case BAND -> (a, b) -> a & b;
            case BOR -> (a, b) -> a | b;
            case BXOR -> (a, b) -> a ^ b;
        };
    }
}

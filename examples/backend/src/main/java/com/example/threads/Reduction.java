package com.example.threads;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/** Combines elements. Knows few types and operations; the rest is refused before it is begun. */
final class Reduction {

    private Reduction() {}

    static boolean knows(ReduceOp op, DataType type) {
        return switch (op.kind()) {
            case SUM, PRODUCT, MIN, MAX ->
                    type == DataType.INT32 || type == DataType.INT64 || isFloat(type);
            case AVG -> isFloat(type);
            default -> false;
        };
    }

    private static boolean isFloat(DataType type) {
        return type == DataType.FLOAT32 || type == DataType.FLOAT64;
    }

    /** Each rank's elements, combined in the order of ranks. */
    static byte[] of(ReduceOp op, DataType type, byte[][] ranks) {
        ByteBuffer result = ordered(ranks[0].clone());
        for (int rank = 1; rank < ranks.length; rank++) {
            ByteBuffer next = ordered(ranks[rank]);
            for (int at = 0; at < result.capacity(); at += type.size()) {
                switch (type) {
                    case INT32 ->
                            result.putInt(
                                    at, (int) combine(op, result.getInt(at), next.getInt(at)));
                    case INT64 ->
                            result.putLong(at, combine(op, result.getLong(at), next.getLong(at)));
                    case FLOAT32 ->
                            result.putFloat(
                                    at,
                                    (float) combine(op, result.getFloat(at), next.getFloat(at)));
                    case FLOAT64 ->
                            result.putDouble(
                                    at, combine(op, result.getDouble(at), next.getDouble(at)));
                    default -> throw new IllegalArgumentException(type.toString());
                }
            }
        }
        if (op.kind() == ReduceOp.Kind.AVG) {
            divide(result, type, ranks.length);
        }
        return result.array();
    }

    private static void divide(ByteBuffer sums, DataType type, int ranks) {
        for (int at = 0; at < sums.capacity(); at += type.size()) {
            if (type == DataType.FLOAT32) {
                sums.putFloat(at, sums.getFloat(at) / ranks);
            } else {
                sums.putDouble(at, sums.getDouble(at) / ranks);
            }
        }
    }

    private static ByteBuffer ordered(byte[] elements) {
        return ByteBuffer.wrap(elements).order(ByteOrder.nativeOrder());
    }

    private static long combine(ReduceOp op, long a, long b) {
        return switch (op.kind()) {
            case PRODUCT -> a * b;
            case MIN -> Math.min(a, b);
            case MAX -> Math.max(a, b);
            default -> a + b;
        };
    }

    private static double combine(ReduceOp op, double a, double b) {
        return switch (op.kind()) {
            case PRODUCT -> a * b;
            case MIN -> Math.min(a, b);
            case MAX -> Math.max(a, b);
            default -> a + b;
        };
    }
}

package org.jccl.soak;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.LongBinaryOperator;
import java.util.stream.LongStream;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/**
 * Elements that every rank can compute for all others, from a seed, and what reductions make of
 * them. Reductions are exact in every type and order of the ranks: integers wrap around, floating
 * point numbers are small integers.
 */
final class Values {

    /** Of PREMUL_SUM: exact in every floating point type. */
    static final double FACTOR = 0.5;

    private static final int SMALLEST_RESULT_LIMIT = 256;

    private Values() {}

    /** A seed out of several numbers (SplitMix64). */
    static long mix(long first, long... more) {
        long mixed = mix(first);
        for (long part : more) {
            mixed = mix(mixed ^ part);
        }
        return mixed;
    }

    private static long mix(long number) {
        long mixed = number + 0x9e3779b97f4a7c15L;
        mixed = (mixed ^ mixed >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }

    /** Elements of any bits, for operations that only move them. */
    static byte[] moved(DataType type, long seed, int count) {
        byte[] bytes = new byte[count * type.size()];
        long random = 0;
        for (int i = 0; i < bytes.length; i++) {
            random = (i & 7) == 0 ? mix(seed + i) : random >>> 8;
            bytes[i] = (byte) (type == DataType.BOOL ? random & 1 : random);
        }
        return bytes;
    }

    /** What a rank gives to a reduction. */
    static byte[] input(DataType type, ReduceOp op, int ranks, long seed, int rank, int count) {
        ByteBuffer bytes = buffer(type, count);
        long start = mix(seed, rank);
        for (int i = 0; i < count; i++) {
            put(bytes, type, value(type, op, ranks, mix(start + i)));
        }
        return bytes.array();
    }

    /** What the reduction gives. */
    static byte[] reduced(DataType type, ReduceOp op, int ranks, long seed, int count) {
        LongBinaryOperator step = step(type, op);
        long[] starts = LongStream.range(0, ranks).map(rank -> mix(seed, rank)).toArray();
        ByteBuffer bytes = buffer(type, count);
        for (int i = 0; i < count; i++) {
            long result = value(type, op, ranks, mix(starts[0] + i));
            for (int rank = 1; rank < ranks; rank++) {
                result = step.applyAsLong(result, value(type, op, ranks, mix(starts[rank] + i)));
            }
            if (op.kind() == ReduceOp.Kind.AVG) {
                result /= ranks;
            } else if (op.kind() == ReduceOp.Kind.PREMUL_SUM) {
                result /= 2;
            }
            put(bytes, type, result);
        }
        return bytes.array();
    }

    private static long value(DataType type, ReduceOp op, int ranks, long random) {
        if (type == DataType.BOOL) {
            return random & 1;
        }
        if (type.isInteger()) {
            return wrapped(type, random);
        }
        return switch (op.kind()) {
            case SUM -> within(random, largest(type) / ranks);
            // Some libraries divide before they add.
            case AVG -> ranks * within(random, SMALLEST_RESULT_LIMIT / ranks / ranks);
            case PREMUL_SUM -> 2 * within(random, largest(type) / ranks / 2);
            case PRODUCT -> (random & 3) == 0 ? 2 : (random & 4) - 2 < 0 ? -1 : 1;
            default -> within(random, largest(type));
        };
    }

    private static long within(long random, long limit) {
        return Math.floorMod(random, 2 * limit + 1) - limit;
    }

    /** Up to which all integers are exact. */
    private static long largest(DataType type) {
        return switch (type) {
            case FLOAT16 -> 1L << 11;
            case BFLOAT16 -> 1L << 8;
            case FLOAT32 -> 1L << 24;
            default -> 1L << 53;
        };
    }

    private static long wrapped(DataType type, long value) {
        return switch (type) {
            case INT8 -> (byte) value;
            case UINT8 -> value & 0xff;
            case INT16 -> (short) value;
            case INT32 -> (int) value;
            default -> value;
        };
    }

    private static LongBinaryOperator step(DataType type, ReduceOp op) {
        if (type == DataType.BOOL) {
            return switch (op.kind()) {
                case SUM, MAX, BOR -> (a, b) -> a | b;
                case PRODUCT, MIN, BAND -> (a, b) -> a & b;
                default -> (a, b) -> a ^ b;
            };
        }
        return switch (op.kind()) {
            case SUM, AVG, PREMUL_SUM -> (a, b) -> wrapped(type, a + b);
            case PRODUCT -> (a, b) -> wrapped(type, a * b);
            case MIN -> Math::min;
            case MAX -> Math::max;
            case BAND -> (a, b) -> a & b;
            case BOR -> (a, b) -> a | b;
            case BXOR -> (a, b) -> a ^ b;
        };
    }

    private static ByteBuffer buffer(DataType type, int count) {
        return ByteBuffer.wrap(new byte[count * type.size()]).order(ByteOrder.nativeOrder());
    }

    private static void put(ByteBuffer bytes, DataType type, long value) {
        switch (type) {
            case INT16 -> bytes.putShort((short) value);
            case INT32 -> bytes.putInt((int) value);
            case INT64 -> bytes.putLong(value);
            case FLOAT16 -> bytes.putShort(float16(value));
            case BFLOAT16 -> bytes.putShort((short) (Float.floatToIntBits(value) >>> 16));
            case FLOAT32 -> bytes.putFloat(value);
            case FLOAT64 -> bytes.putDouble(value);
            default -> bytes.put((byte) value);
        }
    }

    /** Of an integer that float16 has exactly. */
    private static short float16(long value) {
        int bits = Float.floatToIntBits(value);
        int magnitude = bits & 0x7fffffff;
        int sign = bits >>> 16 & 0x8000;
        return (short) (magnitude == 0 ? sign : sign | (magnitude >>> 13) - (127 - 15 << 10));
    }
}

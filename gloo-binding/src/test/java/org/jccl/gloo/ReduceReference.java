package org.jccl.gloo;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/** What a reduction of two elements must give, worked out in another way than the kernels do. */
final class ReduceReference {

    /** All finite values that a 16-bit type can hold, in ascending order. */
    private static final double[] HALVES = magnitudes(DataType.FLOAT16, 0x7c00);

    private static final double[] BRAINS = magnitudes(DataType.BFLOAT16, 0x7f80);

    private ReduceReference() {}

    private static double[] magnitudes(DataType type, int infinity) {
        return IntStream.range(0, infinity).mapToDouble(bits -> decode(type, bits)).toArray();
    }

    /** Bits of the result of reducing bits of two ranks. */
    static long combine(DataType type, ReduceOp op, long a, long b) {
        if (type == DataType.BOOL) {
            boolean x = a != 0;
            boolean y = b != 0;
            boolean result =
                    switch (op.kind()) {
                        case SUM, MAX, BOR -> x || y;
                        case PRODUCT, MIN, BAND -> x && y;
                        case BXOR -> x != y;
                        default -> throw new AssertionError(op);
                    };
            return result ? 1 : 0;
        }
        if (type.isInteger()) {
            long x = extend(type, a);
            long y = extend(type, b);
            long result =
                    switch (op.kind()) {
                        case SUM -> x + y;
                        case PRODUCT -> x * y;
                        case MIN -> Math.min(x, y);
                        case MAX -> Math.max(x, y);
                        case BAND -> x & y;
                        case BOR -> x | y;
                        case BXOR -> x ^ y;
                        default -> throw new AssertionError(op);
                    };
            return result & mask(type);
        }
        if (op.kind() == ReduceOp.Kind.PREMUL_SUM) {
            long x = encode(type, multiply(type, decode(type, a), op.factor()));
            long y = encode(type, multiply(type, decode(type, b), op.factor()));
            return combine(type, ReduceOp.SUM, x, y);
        }
        double x = decode(type, a);
        double y = decode(type, b);
        return switch (op.kind()) {
            case SUM -> encode(type, add(type, x, y));
            case AVG -> encode(type, decode(type, encode(type, add(type, x, y))) / 2);
            case PRODUCT -> encode(type, multiply(type, x, y));
            case MIN -> encode(type, Math.min(x, y));
            case MAX -> encode(type, Math.max(x, y));
            default -> throw new AssertionError(op);
        };
    }

    /** The 16-bit types are added as floats; a double sum could round otherwise. */
    private static double add(DataType type, double x, double y) {
        return type == DataType.FLOAT64 ? x + y : (float) x + (float) y;
    }

    private static double multiply(DataType type, double x, double y) {
        return type == DataType.FLOAT64 ? x * y : (float) x * (float) y;
    }

    private static long mask(DataType type) {
        return type.size() == Long.BYTES ? -1 : (1L << type.size() * 8) - 1;
    }

    private static long extend(DataType type, long bits) {
        int unused = Long.SIZE - type.size() * 8;
        return type == DataType.UINT8 ? bits & 0xff : bits << unused >> unused;
    }

    static double decode(DataType type, long bits) {
        return switch (type) {
            case FLOAT64 -> Double.longBitsToDouble(bits);
            case FLOAT32 -> Float.intBitsToFloat((int) bits);
            case BFLOAT16 -> Float.intBitsToFloat((int) bits << 16);
            case FLOAT16 -> {
                double sign = (bits & 0x8000) == 0 ? 1 : -1;
                int exponent = (int) bits >> 10 & 0x1f;
                int fraction = (int) bits & 0x3ff;
                if (exponent == 0x1f) {
                    yield fraction == 0 ? sign * Double.POSITIVE_INFINITY : Double.NaN;
                }
                yield exponent == 0
                        ? sign * fraction * 0x1p-24
                        : sign * (1024 + fraction) * Math.pow(2, exponent - 25);
            }
            default -> throw new AssertionError(type);
        };
    }

    private static long encode(DataType type, double value) {
        return switch (type) {
            case FLOAT64 -> Double.doubleToLongBits(value);
            case FLOAT32 -> Float.floatToIntBits((float) value) & 0xffffffffL;
            case BFLOAT16 -> nearest(BRAINS, 0x7f80, value);
            case FLOAT16 -> nearest(HALVES, 0x7c00, value);
            default -> throw new AssertionError(type);
        };
    }

    /** The closest of the magnitudes, the even one of two that are equally close. */
    private static long nearest(double[] magnitudes, int infinity, double value) {
        if (Double.isNaN(value)) {
            return infinity | 1;
        }
        long sign = Math.copySign(1, value) < 0 ? 0x8000 : 0;
        double magnitude = Math.abs(value);
        double step = magnitudes[infinity - 1] - magnitudes[infinity - 2];
        if (magnitude >= magnitudes[infinity - 1] + step / 2) {
            return sign | infinity;
        }
        int found = Arrays.binarySearch(magnitudes, magnitude);
        if (found >= 0) {
            return sign | found;
        }
        int above = -found - 1;
        int below = above - 1;
        if (above == infinity) {
            return sign | below;
        }
        double middle = (magnitudes[below] + magnitudes[above]) / 2;
        boolean up = magnitude > middle || (magnitude == middle && above % 2 == 0);
        return sign | (up ? above : below);
    }

    static boolean isNan(DataType type, long bits) {
        return type.isFloatingPoint() && Double.isNaN(decode(type, bits));
    }

    static long read(DataType type, ByteBuffer bytes, int index) {
        return switch (type.size()) {
            case 1 -> bytes.get(index) & 0xffL;
            case 2 -> bytes.getShort(index * 2) & 0xffffL;
            case 4 -> bytes.getInt(index * 4) & 0xffffffffL;
            default -> bytes.getLong(index * 8);
        };
    }

    static void write(DataType type, ByteBuffer bytes, int index, long bits) {
        switch (type.size()) {
            case 1 -> bytes.put(index, (byte) bits);
            case 2 -> bytes.putShort(index * 2, (short) bits);
            case 4 -> bytes.putInt(index * 4, (int) bits);
            default -> bytes.putLong(index * 8, bits);
        }
    }
}

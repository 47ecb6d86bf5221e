package org.jccl.nccl;

import org.jccl.DataType;
import org.jccl.ReduceOp;

/** The numbers of element types and reduce ops in NCCL. */
final class NcclTypes {

    private static final int FLOAT_SMALLEST_NORMAL_HALF = 0x38800000;
    private static final int FLOAT_HALF_OVERFLOW = 0x47800000;

    /** NCCL's built-in operations, as its header numbers them. */
    static final int SUM = 0;

    static final int PROD = 1;
    static final int MAX = 2;
    static final int MIN = 3;
    static final int AVG = 4;

    private NcclTypes() {}

    /**
     * The type to move or reduce elements as, by the number in NCCL's header. Types that NCCL lacks
     * move as bytes: int16 as two.
     *
     * @param float8 whether the library has the float8 types
     */
    static int type(DataType type, boolean float8) {
        if (type.isFloat8() && !float8) {
            return type(DataType.UINT8, false);
        }
        return switch (type) {
            case INT8 -> 0;
            case UINT8, BOOL, INT16 -> 1;
            case INT32 -> 2;
            case INT64 -> 4;
            case FLOAT16 -> 6;
            case BFLOAT16 -> 9;
            case FLOAT32 -> 7;
            case FLOAT64 -> 8;
            case FLOAT8_E4M3 -> 10;
            case FLOAT8_E5M2 -> 11;
        };
    }

    /**
     * Returns the number of elements of {@link #type} that hold {@code count} elements of a type.
     */
    static long count(DataType type, long count) {
        return type == DataType.INT16 ? 2 * count : count;
    }

    /**
     * Returns whether NCCL reduces a type with an operation.
     *
     * @param float8 whether library and devices have arithmetic of float8
     */
    static boolean reduces(ReduceOp op, DataType type, boolean float8) {
        if (type == DataType.INT16 || type.isFloat8() && !float8) {
            return false;
        }
        return switch (op.kind()) {
            case SUM, PRODUCT, MIN, MAX -> true;
            case AVG -> type != DataType.BOOL;
            case PREMUL_SUM -> type.isFloatingPoint();
            case BAND, BOR, BXOR -> false;
        };
    }

    /** The built-in operation; PREMUL_SUM has none. For bool, "or" is max and "and" is min. */
    static int op(ReduceOp op, DataType type) {
        boolean bool = type == DataType.BOOL;
        return switch (op.kind()) {
            case SUM -> bool ? MAX : SUM;
            case PRODUCT -> bool ? MIN : PROD;
            case MAX -> MAX;
            case MIN -> MIN;
            case AVG -> AVG;
            case BAND, BOR, BXOR, PREMUL_SUM ->
                    throw new IllegalArgumentException("NCCL has no built-in " + op);
        };
    }

    /** A factor as the bits of a floating point type. */
    static long scalarBits(double factor, DataType type) {
        return switch (type) {
            case FLOAT64 -> Double.doubleToRawLongBits(factor);
            case FLOAT32 -> Float.floatToRawIntBits((float) factor);
            case FLOAT16 -> float16Bits((float) factor);
            case BFLOAT16 -> bfloat16Bits((float) factor);
            default -> throw new IllegalArgumentException("no factor of type " + type);
        };
    }

    private static int bfloat16Bits(float value) {
        int bits = Float.floatToRawIntBits(value);
        if (Float.isNaN(value)) {
            return bits >>> 16 | 0x40;
        }
        return bits + 0x7fff + (bits >>> 16 & 1) >>> 16;
    }

    private static int float16Bits(float value) {
        int bits = Float.floatToRawIntBits(value);
        int sign = bits >>> 16 & 0x8000;
        int magnitude = bits & 0x7fffffff;
        if (Float.isNaN(value)) {
            return sign | 0x7e00;
        }
        if (magnitude >= FLOAT_HALF_OVERFLOW) {
            return sign | 0x7c00;
        }
        if (magnitude < FLOAT_SMALLEST_NORMAL_HALF) {
            // The last bit of 0.5f is worth the smallest float16: adding rounds to it.
            float shifted = Float.intBitsToFloat(magnitude) + 0.5f;
            return sign | Float.floatToRawIntBits(shifted) - Float.floatToRawIntBits(0.5f);
        }
        int rounded = magnitude - 0x38000000 + 0xfff + (magnitude >>> 13 & 1);
        return sign | rounded >>> 13;
    }
}

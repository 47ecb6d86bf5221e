package org.jccl.nccl;

import org.bytedeco.cuda.global.nccl;
import org.jccl.DataType;
import org.jccl.ReduceOp;

/** How element types and reduce ops are called in NCCL. */
final class NcclTypes {

    private static final int FLOAT_SMALLEST_NORMAL_HALF = 0x38800000;
    private static final int FLOAT_HALF_OVERFLOW = 0x47800000;

    private NcclTypes() {}

    /** The type to move or reduce elements as; int16, which NCCL lacks, moves as pairs of bytes. */
    static int type(DataType type) {
        return switch (type) {
            case INT8 -> nccl.ncclInt8;
            case UINT8, BOOL, INT16 -> nccl.ncclUint8;
            case INT32 -> nccl.ncclInt32;
            case INT64 -> nccl.ncclInt64;
            case FLOAT16 -> nccl.ncclFloat16;
            case BFLOAT16 -> nccl.ncclBfloat16;
            case FLOAT32 -> nccl.ncclFloat32;
            case FLOAT64 -> nccl.ncclFloat64;
            case FLOAT8_E4M3 -> nccl.ncclFloat8e4m3;
            case FLOAT8_E5M2 -> nccl.ncclFloat8e5m2;
        };
    }

    /** How many elements of {@link #type} stand for some of a type. */
    static long count(DataType type, long count) {
        return type == DataType.INT16 ? 2 * count : count;
    }

    /** Whether NCCL reduces a type with an operation on devices that may lack float8 arithmetic. */
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
            case SUM -> bool ? nccl.ncclMax : nccl.ncclSum;
            case PRODUCT -> bool ? nccl.ncclMin : nccl.ncclProd;
            case MAX -> nccl.ncclMax;
            case MIN -> nccl.ncclMin;
            case AVG -> nccl.ncclAvg;
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

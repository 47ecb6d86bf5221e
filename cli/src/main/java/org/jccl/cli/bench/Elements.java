package org.jccl.cli.bench;

import org.jccl.DataType;

/** Reads and writes elements of any data type in the Java arrays that tensors are copied from. */
final class Elements {

    private Elements() {}

    /** An array whose elements are as large as the type's. */
    static Object newArray(DataType type, int length) {
        return switch (type) {
            case FLOAT32 -> new float[length];
            case FLOAT64 -> new double[length];
            case INT32 -> new int[length];
            case INT64 -> new long[length];
            case INT16, FLOAT16, BFLOAT16 -> new short[length];
            case INT8, UINT8, BOOL, FLOAT8_E4M3, FLOAT8_E5M2 -> new byte[length];
        };
    }

    /**
     * Stores the nearest element; integers wrap. A float8 is moved only: its bits are the value.
     */
    static void set(DataType type, Object array, int index, double value) {
        switch (type) {
            case FLOAT32 -> ((float[]) array)[index] = (float) value;
            case FLOAT64 -> ((double[]) array)[index] = value;
            case INT32 -> ((int[]) array)[index] = (int) (long) value;
            case INT64 -> ((long[]) array)[index] = (long) value;
            case INT16 -> ((short[]) array)[index] = (short) (long) value;
            case FLOAT16 -> ((short[]) array)[index] = toFloat16((float) value);
            case BFLOAT16 -> ((short[]) array)[index] = toBfloat16((float) value);
            case BOOL -> ((byte[]) array)[index] = (byte) (value == 0 ? 0 : 1);
            case INT8, UINT8, FLOAT8_E4M3, FLOAT8_E5M2 ->
                    ((byte[]) array)[index] = (byte) (long) value;
        }
    }

    static double get(DataType type, Object array, int index) {
        return switch (type) {
            case FLOAT32 -> ((float[]) array)[index];
            case FLOAT64 -> ((double[]) array)[index];
            case INT32 -> ((int[]) array)[index];
            case INT64 -> ((long[]) array)[index];
            case INT16 -> ((short[]) array)[index];
            case FLOAT16 -> fromFloat16(((short[]) array)[index]);
            case BFLOAT16 -> Float.intBitsToFloat(((short[]) array)[index] << 16);
            case INT8 -> ((byte[]) array)[index];
            case UINT8, BOOL, FLOAT8_E4M3, FLOAT8_E5M2 ->
                    Byte.toUnsignedInt(((byte[]) array)[index]);
        };
    }

    /** Distance between 1 and the next larger element; 0 for types that are exact. */
    static double epsilon(DataType type) {
        return switch (type) {
            case FLOAT32 -> 0x1p-23;
            case FLOAT64 -> 0x1p-52;
            case FLOAT16 -> 0x1p-10;
            case BFLOAT16 -> 0x1p-7;
            default -> 0;
        };
    }

    private static short toBfloat16(float value) {
        int bits = Float.floatToIntBits(value);
        return (short) (bits + 0x7fff + (bits >>> 16 & 1) >>> 16);
    }

    private static short toFloat16(float value) {
        int bits = Float.floatToIntBits(value);
        int sign = bits >>> 16 & 0x8000;
        float magnitude = Math.abs(value);
        if (magnitude >= 65520) {
            return (short) (sign | 0x7c00);
        }
        if (magnitude < 0x1p-14f) {
            return (short) (sign | (int) Math.rint(magnitude * 0x1p24f));
        }
        int rounded = (bits & 0x7fffffff) + 0xfff + (bits >>> 13 & 1) >>> 13;
        // Exponents are biased by 127 in float32 and by 15 in float16.
        return (short) (sign | rounded - (127 - 15 << 10));
    }

    private static float fromFloat16(short bits) {
        int exponent = bits >>> 10 & 0x1f;
        int fraction = bits & 0x3ff;
        float magnitude =
                switch (exponent) {
                    case 0 -> fraction * 0x1p-24f;
                    case 0x1f -> fraction == 0 ? Float.POSITIVE_INFINITY : Float.NaN;
                    default -> Math.scalb(1 + fraction * 0x1p-10f, exponent - 15);
                };
        return bits < 0 ? -magnitude : magnitude;
    }
}

package org.jccl.conformance;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Random;
import org.jccl.DataType;
import org.jccl.Tensor;

/** Numbers as the bytes of any element type, and back. */
public final class Elements {

    private Elements() {}

    /** The memory of a tensor as bytes, which have arrays whatever the type of the elements. */
    static Tensor bytes(Tensor tensor) {
        return Tensor.of(
                tensor.address(), tensor.byteSize(), DataType.UINT8, tensor.device(), tensor);
    }

    /**
     * Encodes integers.
     *
     * @param type element type
     * @param values integers that the type can hold
     * @return their bytes
     */
    public static byte[] encode(DataType type, long... values) {
        ByteBuffer bytes = buffer(new byte[values.length * type.size()]);
        for (long value : values) {
            if (type == DataType.INT64) {
                bytes.putLong(value);
            } else {
                put(bytes, type, value);
            }
        }
        return bytes.array();
    }

    /**
     * Encodes numbers, rounded to nearest even.
     *
     * @param type element type, not int64
     * @param values numbers
     * @return their bytes
     */
    public static byte[] encode(DataType type, double[] values) {
        ByteBuffer bytes = buffer(new byte[values.length * type.size()]);
        for (double value : values) {
            put(bytes, type, value);
        }
        return bytes.array();
    }

    /**
     * Decodes numbers.
     *
     * @param type element type
     * @param elements bytes
     * @return the numbers; int64 beyond 53 bits are rounded
     */
    public static double[] decode(DataType type, byte[] elements) {
        ByteBuffer bytes = buffer(elements);
        double[] values = new double[elements.length / type.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = get(bytes, type);
        }
        return values;
    }

    /**
     * Elements of any bits, for operations that only move them.
     *
     * @param type element type
     * @param seed tells patterns apart
     * @param count number of elements
     * @return their bytes
     */
    public static byte[] pattern(DataType type, long seed, int count) {
        byte[] bytes = new byte[count * type.size()];
        new Random(seed).nextBytes(bytes);
        if (type == DataType.BOOL) {
            for (int i = 0; i < bytes.length; i++) {
                bytes[i] &= 1;
            }
        }
        return bytes;
    }

    private static ByteBuffer buffer(byte[] array) {
        return ByteBuffer.wrap(array).order(ByteOrder.nativeOrder());
    }

    private static void put(ByteBuffer bytes, DataType type, double value) {
        switch (type) {
            case INT8, UINT8, BOOL, FLOAT8_E4M3, FLOAT8_E5M2 -> bytes.put((byte) (int) value);
            case INT16 -> bytes.putShort((short) (int) value);
            case INT32 -> bytes.putInt((int) value);
            case INT64 -> bytes.putLong((long) value);
            case FLOAT16 -> bytes.putShort(toFloat16(value));
            case BFLOAT16 -> bytes.putShort(toBfloat16((float) value));
            case FLOAT32 -> bytes.putFloat((float) value);
            case FLOAT64 -> bytes.putDouble(value);
        }
    }

    private static double get(ByteBuffer bytes, DataType type) {
        return switch (type) {
            case INT8 -> bytes.get();
            case UINT8, BOOL, FLOAT8_E4M3, FLOAT8_E5M2 -> bytes.get() & 0xff;
            case INT16 -> bytes.getShort();
            case INT32 -> bytes.getInt();
            case INT64 -> bytes.getLong();
            case FLOAT16 -> fromFloat16(bytes.getShort());
            case BFLOAT16 -> Float.intBitsToFloat(bytes.getShort() << 16);
            case FLOAT32 -> bytes.getFloat();
            case FLOAT64 -> bytes.getDouble();
        };
    }

    private static double fromFloat16(short bits) {
        int exponent = bits >> 10 & 0x1f;
        int fraction = bits & 0x3ff;
        double magnitude =
                switch (exponent) {
                    case 0 -> Math.scalb((double) fraction, -24);
                    case 0x1f -> fraction == 0 ? Double.POSITIVE_INFINITY : Double.NaN;
                    default -> Math.scalb((double) (fraction + 1024), exponent - 25);
                };
        return bits < 0 ? -magnitude : magnitude;
    }

    private static short toFloat16(double value) {
        int sign = Double.doubleToRawLongBits(value) < 0 ? 0x8000 : 0;
        double magnitude = Math.abs(value);
        if (Double.isNaN(magnitude)) {
            return (short) 0x7e00;
        }
        if (magnitude >= 65520) {
            return (short) (sign | 0x7c00);
        }
        int exponent = Math.max(Math.getExponent(magnitude), -14);
        // In units of the last place; rint rounds to even, and a carry moves into the exponent.
        long units = (long) Math.rint(Math.scalb(magnitude, 10 - exponent));
        return (short) (sign | (int) (units + ((long) (exponent + 14) << 10)));
    }

    private static short toBfloat16(float value) {
        int bits = Float.floatToIntBits(value);
        if (Float.isNaN(value)) {
            return (short) 0x7fc0;
        }
        int half = 0x7fff + (bits >>> 16 & 1);
        return (short) (bits + half >>> 16);
    }
}

package org.jccl.training;

/** Conversions of bfloat16 and IEEE 754 binary16, which the JDK offers only from Java 20. */
final class HalfFloats {

    private HalfFloats() {}

    static short toBfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        if (Float.isNaN(value)) {
            return (short) (bits >>> 16 | 0x40); // keeps NaN a NaN
        }
        return (short) (bits + 0x7fff + (bits >>> 16 & 1) >>> 16);
    }

    static float ofBfloat16(short bits) {
        return Float.intBitsToFloat(bits << 16);
    }

    static short toFloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        int sign = bits >>> 16 & 0x8000;
        int rest = bits & 0x7fffffff;
        if (rest > 0x7f800000) {
            return (short) (sign | 0x7e00 | rest >>> 13 & 0x1ff);
        }
        if (rest >= 0x47800000) {
            return (short) (sign | 0x7c00); // 65536 and more
        }
        if (rest >= 0x38800000) {
            int rounded = rest - 0x38000000 + 0xfff + (rest >>> 13 & 1);
            return (short) (sign | rounded >>> 13); // may round to infinity
        }
        // Below 2^-14, values are multiples of 2^-24. The last bit of the sum is 2^-24, so the
        // addition rounds.
        float shifted = Float.intBitsToFloat(rest) + 0.5f;
        return (short) (sign | Float.floatToRawIntBits(shifted) - 0x3f000000);
    }

    static float ofFloat16(short half) {
        int bits = half & 0xffff;
        int sign = (bits & 0x8000) << 16;
        int rest = bits & 0x7fff;
        if (rest >= 0x7c00) {
            return Float.intBitsToFloat(sign | 0x7f800000 | (rest & 0x3ff) << 13);
        }
        if (rest >= 0x400) {
            return Float.intBitsToFloat(sign | (rest << 13) + 0x38000000);
        }
        float value = rest * 0x1p-24f;
        return sign == 0 ? value : -value;
    }
}

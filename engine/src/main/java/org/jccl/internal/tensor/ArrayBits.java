package org.jccl.internal.tensor;

/** Arrays of Java whose elements have another form in a tensor: boolean and char. */
final class ArrayBits {

    private ArrayBits() {}

    /** Returns an array with the elements as a tensor has them, or the array itself. */
    static Object of(Object values) {
        Object bits = roomFor(values);
        if (values instanceof boolean[] flags) {
            byte[] bytes = (byte[]) bits;
            for (int i = 0; i < flags.length; i++) {
                bytes[i] = (byte) (flags[i] ? 1 : 0);
            }
        } else if (values instanceof char[] chars) {
            short[] shorts = (short[]) bits;
            for (int i = 0; i < chars.length; i++) {
                shorts[i] = (short) chars[i];
            }
        }
        return bits;
    }

    /** Returns an array into which elements of a tensor can be copied, or the array itself. */
    static Object roomFor(Object values) {
        if (values instanceof boolean[] flags) {
            return new byte[flags.length];
        }
        return values instanceof char[] chars ? new short[chars.length] : values;
    }

    /** Copies elements of a tensor from the array of {@link #roomFor}. */
    static void copy(Object bits, Object values) {
        if (values instanceof boolean[] flags) {
            byte[] bytes = (byte[]) bits;
            for (int i = 0; i < flags.length; i++) {
                flags[i] = bytes[i] != 0;
            }
        } else if (values instanceof char[] chars) {
            short[] shorts = (short[]) bits;
            for (int i = 0; i < chars.length; i++) {
                chars[i] = (char) shorts[i];
            }
        }
    }
}

package org.jccl.training;

import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;

/**
 * Converts a float32 tensor to another type for communication. Copies through arrays, in pieces
 * that fit the cache.
 */
final class Wire implements AutoCloseable {

    private static final int PIECE = 4096;

    private final Tensor tensor;
    private final boolean brain;
    private final Tensor[] from;
    private final Tensor[] to;
    private final float[] floats = new float[PIECE];
    private final short[] shorts = new short[PIECE];
    private final float[] lastFloats;
    private final short[] lastShorts;

    Wire(Tensor memory, DataType type) {
        tensor = Tensor.allocate(Device.CPU, type, memory.count());
        brain = type == DataType.BFLOAT16;
        int pieces = Math.toIntExact((memory.count() + PIECE - 1) / PIECE);
        from = new Tensor[pieces];
        to = new Tensor[pieces];
        int length = PIECE;
        for (int i = 0; i < pieces; i++) {
            long offset = (long) i * PIECE;
            length = (int) Math.min(PIECE, memory.count() - offset);
            from[i] = memory.slice(offset, length);
            to[i] = tensor.slice(offset, length);
        }
        lastFloats = new float[length];
        lastShorts = new short[length];
    }

    /** Returns the tensor that is sent. */
    Tensor tensor() {
        return tensor;
    }

    /**
     * Rounds to the wire type: to the nearest value, ties to even.
     *
     * @param divisor the number by which elements are divided before rounding
     */
    void encode(int divisor) {
        for (int i = 0; i < from.length; i++) {
            float[] source = i == from.length - 1 ? lastFloats : floats;
            short[] target = i == from.length - 1 ? lastShorts : shorts;
            from[i].copyTo(source);
            for (int k = 0; k < source.length; k++) {
                float value = source[k] / divisor;
                target[k] = brain ? HalfFloats.toBfloat16(value) : HalfFloats.toFloat16(value);
            }
            to[i].copyFrom(target);
        }
    }

    /** Converts back to float32, which is exact. */
    void decode() {
        for (int i = 0; i < from.length; i++) {
            short[] source = i == from.length - 1 ? lastShorts : shorts;
            float[] target = i == from.length - 1 ? lastFloats : floats;
            to[i].copyTo(source);
            for (int k = 0; k < source.length; k++) {
                target[k] =
                        brain ? HalfFloats.ofBfloat16(source[k]) : HalfFloats.ofFloat16(source[k]);
            }
            from[i].copyFrom(target);
        }
    }

    @Override
    public void close() {
        tensor.close();
    }
}

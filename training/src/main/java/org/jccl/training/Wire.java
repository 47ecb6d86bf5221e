package org.jccl.training;

import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;

/**
 * A float32 tensor in another type while it is on the wire. Copies through arrays, in pieces that
 * stay in the cache.
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

    /** What goes over the wire. */
    Tensor tensor() {
        return tensor;
    }

    /**
     * Rounds to the wire's type, to the nearest value and to even in the middle.
     *
     * @param divisor of all elements before
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

    /** The way back, which is exact. */
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

package org.jccl.gloo;

import java.lang.reflect.Field;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Direct memory and its address, which the SPI wants. */
final class Memory {

    final ByteBuffer bytes;
    final long address;

    private Memory(ByteBuffer bytes) {
        this.bytes = bytes.order(ByteOrder.nativeOrder());
        try {
            Field field = Buffer.class.getDeclaredField("address");
            field.setAccessible(true);
            this.address = field.getLong(bytes);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static Memory bytes(int size) {
        return new Memory(ByteBuffer.allocateDirect(size));
    }

    static Memory floats(float... values) {
        Memory memory = bytes(values.length * Float.BYTES);
        memory.bytes.asFloatBuffer().put(values);
        return memory;
    }

    float[] floats() {
        float[] values = new float[bytes.capacity() / Float.BYTES];
        bytes.asFloatBuffer().get(values);
        return values;
    }
}

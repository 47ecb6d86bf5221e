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

    int[] ints() {
        int[] values = new int[bytes.capacity() / Integer.BYTES];
        bytes.duplicate().order(ByteOrder.nativeOrder()).clear().asIntBuffer().get(values);
        return values;
    }
}

package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

class TensorTest {

    private static ByteBuffer direct(int bytes) {
        return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    /** A slice does not have the order of what it was taken from. */
    private static ByteBuffer ordered(ByteBuffer slice) {
        return slice.order(ByteOrder.nativeOrder());
    }

    private static ByteOrder foreignOrder() {
        return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN
                ? ByteOrder.BIG_ENDIAN
                : ByteOrder.LITTLE_ENDIAN;
    }

    private static void refused(ThrowingCallable call, String words) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }

    @Test
    void borrowsBuffersFromPositionToLimit() {
        FloatBuffer floats = direct(32).asFloatBuffer().put(new float[] {1, 2, 3, 4, 5});
        Tensor tensor = Tensor.of(floats.position(1).limit(4));
        assertThat(tensor).hasToString("float32 x 3 on cpu");
        assertThat(tensor.byteSize()).isEqualTo(12);
        assertThat(tensor.copyTo(new float[3])).containsExactly(2, 3, 4);
        tensor.copyFrom(new float[] {9});
        assertThat(floats.get(1)).isEqualTo(9);
    }

    @Test
    void knowsTheTypeOfEachBuffer() {
        assertThat(Tensor.of(direct(16).asDoubleBuffer()).dataType()).isEqualTo(DataType.FLOAT64);
        assertThat(Tensor.of(direct(16).asIntBuffer()).dataType()).isEqualTo(DataType.INT32);
        assertThat(Tensor.of(direct(16).asLongBuffer()).dataType()).isEqualTo(DataType.INT64);
        assertThat(Tensor.of(direct(16).asShortBuffer()).count()).isEqualTo(8);
        assertThat(Tensor.of(direct(16), DataType.BFLOAT16).count()).isEqualTo(8);
        assertThat(Tensor.of(direct(0), DataType.FLOAT32).count()).isZero();
    }

    @Test
    void refusesBuffersThatCanNotBeShared() {
        refused(() -> Tensor.of(FloatBuffer.allocate(4)), "allocateDirect");
        refused(() -> Tensor.of(ByteBuffer.allocate(4), DataType.INT8), "allocateDirect");
        refused(() -> Tensor.of(direct(8).asReadOnlyBuffer(), DataType.INT8), "read-only");
        refused(() -> Tensor.of(direct(8).asFloatBuffer().asReadOnlyBuffer()), "read-only");
        refused(() -> Tensor.of(direct(8).order(foreignOrder()).asFloatBuffer()), "order(");
        refused(() -> Tensor.of(direct(8).order(foreignOrder()), DataType.INT16), "order(");
        refused(() -> Tensor.of(direct(7), DataType.INT32), "not a whole number of int32");
        assertThat(Tensor.of(direct(8).order(foreignOrder()), DataType.INT8).count()).isEqualTo(8);
    }

    @Test
    void refusesNull() {
        refused(() -> Tensor.of((ByteBuffer) null, DataType.INT8), "buffer is null");
        refused(() -> Tensor.of((FloatBuffer) null), "buffer is null");
        refused(() -> Tensor.of((DoubleBuffer) null), "buffer is null");
        refused(() -> Tensor.of((IntBuffer) null), "buffer is null");
        refused(() -> Tensor.of((LongBuffer) null), "buffer is null");
        refused(() -> Tensor.of((ShortBuffer) null), "buffer is null");
        refused(() -> Tensor.of(direct(8), null), "dataType is null");
        refused(() -> Tensor.of(64, 1, null, Device.CPU, null), "dataType is null");
        refused(() -> Tensor.of(64, 1, DataType.INT8, null, null), "device is null");
        refused(() -> Tensor.allocate(null, DataType.INT8, 1), "device is null");
        refused(() -> Tensor.allocate(Device.CPU, null, 1), "dataType is null");
        refused(() -> Tensor.copyOf(null), "values is null");
    }

    @Test
    void borrowsAddresses() {
        ByteBuffer owner = direct(8);
        Tensor first = Tensor.of(owner, DataType.INT32).copyFrom(new int[] {4, 5});
        Tensor raw = Tensor.of(first.address() + 4, 1, DataType.INT32, Device.CPU, owner);
        assertThat(raw.copyTo(new int[1])).containsExactly(5);
        refused(() -> Tensor.of(0, 1, DataType.INT8, Device.CPU, null), "address must be positive");
        refused(() -> Tensor.of(-8, 1, DataType.INT8, Device.CPU, null), "address");
        refused(() -> Tensor.of(64, -1, DataType.INT8, Device.CPU, null), "count");
        refused(() -> Tensor.of(64, Long.MAX_VALUE / 2, DataType.INT32, Device.CPU, null), "count");
        assertThat(Tensor.of(0, 0, DataType.INT8, Device.CPU, null).byteSize()).isZero();
    }

    @Test
    void elementsBeginAtMultiplesOfTheirSize() {
        ByteBuffer bytes = direct(16);
        long address = Tensor.of(bytes, DataType.INT8).address();
        refused(
                () -> Tensor.of(address + 2, 1, DataType.INT32, Device.CPU, bytes),
                "not a multiple");
        refused(
                () -> Tensor.adopt(address + 1, 1, DataType.INT16, Device.CPU, () -> {}),
                "not a multiple");
        refused(
                () -> Tensor.of(ordered(bytes.slice(4, 8)), DataType.FLOAT64),
                "not a multiple of the 8 bytes");
        refused(
                () -> Tensor.of(ordered(bytes.slice(1, 8)).asFloatBuffer()),
                "not a multiple of the 4 bytes");
        assertThat(Tensor.of(bytes.slice(1, 8), DataType.INT8).count()).isEqualTo(8);
        assertThat(Tensor.of(ordered(bytes.slice(1, 0)), DataType.FLOAT64).count()).isZero();
    }

    @Test
    void memoryEndsAtAnAddress() {
        long last = Long.MAX_VALUE - 7;
        refused(() -> Tensor.of(last, 1, DataType.INT64, Device.CPU, null), "count");
        refused(
                () -> Tensor.adopt(64, Long.MAX_VALUE / 4, DataType.INT32, Device.CPU, () -> {}),
                "count");
        assertThat(Tensor.of(last - 8, 1, DataType.INT64, Device.CPU, null).count()).isOne();
    }

    @Test
    void allocatesZeroedMemoryOfItsOwn() {
        try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.INT64, 3)) {
            assertThat(tensor.copyTo(new long[3])).containsExactly(0, 0, 0);
        }
        try (Tensor empty = Tensor.allocate(Device.CPU, DataType.FLOAT64, 0)) {
            assertThat(empty.count()).isZero();
        }
        refused(() -> Tensor.allocate(Device.CPU, DataType.INT8, -1), "count");
        refused(() -> Tensor.allocate(Device.CPU, DataType.INT64, Long.MAX_VALUE / 4), "count");
        assertThatThrownBy(() -> Tensor.allocate(new Device("abacus", 0), DataType.INT8, 1))
                .isInstanceOf(JcclException.class)
                .hasMessageContaining("abacus");
    }

    @Test
    void copiesArraysOfEveryType() {
        try (Tensor tensor = Tensor.copyOf(new short[] {1, -2})) {
            assertThat(tensor).hasToString("int16 x 2 on cpu");
            assertThat(tensor.copyTo(new short[2])).containsExactly((short) 1, (short) -2);
        }
        try (Tensor tensor = Tensor.copyOf(new byte[] {3})) {
            assertThat(tensor.dataType()).isEqualTo(DataType.INT8);
        }
        try (Tensor tensor = Tensor.copyOf(new double[] {0.5})) {
            assertThat(tensor.copyTo(new double[1])).containsExactly(0.5);
        }
        try (Tensor tensor = Tensor.copyOf(new boolean[] {true, false, true})) {
            assertThat(tensor).hasToString("bool x 3 on cpu");
            assertThat(tensor.copyTo(new byte[3])).containsExactly(1, 0, 1);
            assertThat(tensor.copyTo(new boolean[2])).containsExactly(true, false);
            tensor.copyFrom(new byte[] {0, 2, -1});
            assertThat(tensor.copyTo(new boolean[3])).containsExactly(false, true, true);
            tensor.copyFrom(new boolean[] {true});
            assertThat(tensor.copyTo(new byte[3])).containsExactly(1, 2, -1);
            refused(() -> tensor.copyFrom(new boolean[4]), "larger than bool x 3");
        }
        try (Tensor tensor = Tensor.copyOf(new char[] {'a', '\uffff'});
                Tensor bytes = Tensor.copyOf(new byte[1])) {
            assertThat(tensor).hasToString("int16 x 2 on cpu");
            assertThat(tensor.copyTo(new short[2])).containsExactly((short) 'a', (short) -1);
            assertThat(tensor.copyFrom(new char[] {'\u8000'}).copyTo(new char[2]))
                    .containsExactly('\u8000', '\uffff');
            refused(() -> bytes.copyFrom(new boolean[1]), "boolean[] holds no elements of int8");
            refused(() -> tensor.copyTo(new boolean[1]), "boolean[] holds no elements of int16");
        }
        refused(() -> Tensor.copyOf("text"), "java.lang.String");
        refused(() -> Tensor.copyOf(new Object[1]), "java.lang.Object[]");
    }

    @Test
    void smallTypesTravelInArraysOfTheirSize() {
        try (Tensor halves = Tensor.allocate(Device.CPU, DataType.FLOAT16, 2);
                Tensor flags = Tensor.allocate(Device.CPU, DataType.BOOL, 2);
                Tensor ints = Tensor.allocate(Device.CPU, DataType.INT32, 2)) {
            assertThat(halves.copyFrom(new short[] {0x3c00}).copyTo(new short[1]))
                    .containsExactly((short) 0x3c00);
            assertThat(flags.copyFrom(new byte[] {1}).copyTo(new byte[2]))
                    .containsExactly((byte) 1, (byte) 0);
            refused(() -> halves.copyFrom(new float[1]), "2-byte elements");
            refused(() -> ints.copyFrom(new float[1]), "float[] holds no elements of int32");
            refused(() -> flags.copyTo(new short[1]), "bool x 2");
            refused(() -> ints.copyFrom(new int[3]), "larger than int32 x 2");
        }
    }

    @Test
    void copiesFromTensors() {
        Tensor all = Tensor.copyOf(new int[] {1, 2, 3, 4});
        Tensor copy = Tensor.allocate(Device.CPU, DataType.INT32, 3);
        assertThat(copy.copyFrom(all.slice(2, 2)).copyTo(new int[3])).containsExactly(3, 4, 0);
        all.slice(1, 3).copyFrom(all.slice(0, 3)); // overlapping
        assertThat(all.copyTo(new int[4])).containsExactly(1, 1, 2, 3);
        copy.copyFrom(all.slice(4, 0)); // of nothing
        Tensor none = null;
        refused(() -> copy.copyFrom(none), "source is null");
        refused(() -> copy.copyFrom(all), "larger than int32 x 3");
        refused(() -> copy.copyFrom(Tensor.copyOf(new float[1])), "another type");
        all.close();
        refused(() -> copy.copyFrom(all.slice(0, 1)), "source int32 x 1 on cpu is closed");
        copy.close();
        refused(() -> copy.copyFrom(Tensor.copyOf(new int[1])), "closed");
    }

    @Test
    void slicesShareMemoryAndItsEnd() {
        Tensor whole = Tensor.copyOf(new int[] {1, 2, 3, 4});
        Tensor middle = whole.slice(1, 2);
        assertThat(middle.copyTo(new int[2])).containsExactly(2, 3);
        assertThat(whole.slice(4, 0).count()).isZero();
        refused(() -> whole.slice(3, 2), "not inside int32 x 4");
        refused(() -> whole.slice(-1, 1), "not inside");
        refused(() -> whole.slice(0, -1), "not inside");
        refused(() -> whole.slice(Long.MAX_VALUE, 1), "not inside");
        middle.close();
        refused(() -> whole.copyTo(new int[1]), "closed");
    }

    @Test
    void tellsWhenTheMemoryOfAllViewsIsClosed() {
        Tensor tensor = Tensor.copyOf(new float[4]);
        Tensor part = tensor.slice(1, 2);
        AtomicInteger closed = new AtomicInteger();
        tensor.onClose(closed::incrementAndGet);
        tensor.onClose(closed::incrementAndGet).run();
        refused(() -> tensor.onClose(null), "action");
        assertThat(closed).hasValue(0);
        part.close();
        tensor.close();
        assertThat(closed).hasValue(1);
        refused(() -> tensor.onClose(closed::incrementAndGet), "float32 x 4 on cpu is closed");
        refused(() -> part.onClose(closed::incrementAndGet), "float32 x 2 on cpu is closed");
    }

    @Test
    void aClosedTensorIsRefused() {
        Tensor tensor = Tensor.copyOf(new int[] {1});
        tensor.close();
        tensor.close();
        refused(() -> tensor.copyTo(new int[1]), "int32 x 1 on cpu is closed");
        refused(() -> tensor.copyFrom(new int[1]), "closed");
        assertThat(tensor.count()).isEqualTo(1);
    }

    /**
     * By reflection, as these classes are younger than the Java that the tests are compiled for.
     */
    @Test
    void sharesTheMemoryOfForeignSegments() throws ReflectiveOperationException {
        assumeTrue(Runtime.version().feature() >= 22, "needs Java 22");
        Class<?> arenas = Class.forName("java.lang.foreign.Arena");
        Class<?> segments = Class.forName("java.lang.foreign.MemorySegment");
        Object arena = arenas.getMethod("ofAuto").invoke(null);
        Object segment =
                arenas.getMethod("allocate", long.class, long.class).invoke(arena, 12L, 4L);
        ByteBuffer bytes = (ByteBuffer) segments.getMethod("asByteBuffer").invoke(segment);
        Tensor checked = Tensor.of(ordered(bytes), DataType.FLOAT32);
        long address = (long) segments.getMethod("address").invoke(segment);
        Tensor byAddress = Tensor.of(address, 3, DataType.FLOAT32, Device.CPU, segment);
        checked.copyFrom(new float[] {1, 2, 3});
        assertThat(byAddress.copyTo(new float[3])).containsExactly(1, 2, 3);
        assertThat(checked.address()).isEqualTo(address);
        Object onHeap = segments.getMethod("ofArray", byte[].class).invoke(null, new byte[12]);
        ByteBuffer heap = (ByteBuffer) segments.getMethod("asByteBuffer").invoke(onHeap);
        refused(() -> Tensor.of(ordered(heap), DataType.FLOAT32), "allocateDirect");
        Object fixed = segments.getMethod("asReadOnly").invoke(segment);
        ByteBuffer readOnly = (ByteBuffer) segments.getMethod("asByteBuffer").invoke(fixed);
        refused(() -> Tensor.of(ordered(readOnly), DataType.FLOAT32), "read-only");
    }
}

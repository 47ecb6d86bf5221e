package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.bytedeco.javacpp.BoolPointer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.DoublePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.ShortPointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.junit.jupiter.api.Test;

/** Tensors of JavaCPP's pointers, which know less about their memory than buffers do. */
class PointerTensorTest {

    private static final class Handle extends Pointer {
        Handle(Pointer other) {
            super(other);
        }
    }

    private static Tensor of(Pointer pointer, DataType type) {
        return Tensor.ofPointer(pointer, type, Device.CPU);
    }

    private static void refused(Pointer pointer, DataType type, String words) {
        assertThatThrownBy(() -> of(pointer, type))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(words);
    }

    /** As a library gives one away that does not say how much memory there is. */
    private static FloatPointer withoutLimit(FloatPointer memory) {
        FloatPointer pointer = new FloatPointer(memory);
        return pointer.capacity(0).limit(0);
    }

    @Test
    void sharesTheMemoryFromPositionToLimit() {
        try (FloatPointer floats = new FloatPointer(1, 2, 3, 4, 5)) {
            Tensor tensor = of(floats.position(1).limit(4), DataType.FLOAT32);
            assertThat(tensor.copyTo(new float[3])).containsExactly(2, 3, 4);
            tensor.copyFrom(new float[] {9});
            assertThat(floats.position(0).get(1)).isEqualTo(9);
            assertThat(of(floats.getPointer(2), DataType.FLOAT32).copyTo(new float[2]))
                    .containsExactly(3, 4);
            assertThat(of(floats.position(4), DataType.FLOAT32).count()).isZero();
        }
    }

    @Test
    void aPointerWithoutLimitIsNoEmptyTensor() {
        try (FloatPointer memory = new FloatPointer(1, 2, 3)) {
            FloatPointer unknown = withoutLimit(memory);
            refused(unknown, DataType.FLOAT32, "no limit");
            refused(withoutLimit(memory).position(2), DataType.FLOAT32, "no limit");
            refused(new BytePointer(unknown), DataType.INT8, "no limit");
            assertThat(of(unknown.limit(3), DataType.FLOAT32).copyTo(new float[3]))
                    .containsExactly(1, 2, 3);
        }
        try (FloatPointer empty = new FloatPointer(0L)) {
            refused(empty, DataType.FLOAT32, "Tensor.ofPointer(pointer, count");
        }
    }

    @Test
    void aCountStandsForAMissingLimit() {
        try (FloatPointer memory = new FloatPointer(1, 2, 3)) {
            Tensor tensor =
                    Tensor.ofPointer(
                            withoutLimit(memory).position(1), 2, DataType.FLOAT32, Device.CPU);
            assertThat(tensor.copyTo(new float[2])).containsExactly(2, 3);
            assertThat(Tensor.ofPointer(memory, 2, DataType.FLOAT32, Device.CPU).count())
                    .isEqualTo(2);
            assertThatThrownBy(() -> Tensor.ofPointer(memory, 4, DataType.FLOAT32, Device.CPU))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("has 3 elements of float32, not 4");
            assertThatThrownBy(() -> Tensor.ofPointer(memory, 2, DataType.INT32, Device.CPU))
                    .isInstanceOf(UsageException.class);
            assertThatThrownBy(() -> Tensor.ofPointer(memory, -1, DataType.FLOAT32, Device.CPU))
                    .isInstanceOf(UsageException.class);
        }
    }

    @Test
    void aPositionIsInsideTheLimit() {
        try (FloatPointer floats = new FloatPointer(4L)) {
            refused(floats.limit(2).position(3), DataType.FLOAT32, "position 3");
            refused(floats.limit(2).position(-1), DataType.FLOAT32, "position -1");
            refused(floats.limit(-3).position(-5), DataType.FLOAT32, "position -5");
            floats.position(0);
            refused(floats.limit(Long.MAX_VALUE), DataType.FLOAT32, "more than fits");
            refused(floats.limit(Long.MAX_VALUE / 4), DataType.FLOAT32, "what fits in memory");
        }
    }

    @Test
    void nullPointersAreRefusedAlsoAfterTheyWereDeallocated() {
        FloatPointer closed = new FloatPointer(4L);
        closed.close();
        refused(closed, DataType.FLOAT32, "deallocated");
        refused(new Pointer(), DataType.INT8, "null pointer");
        refused(null, DataType.INT8, "pointer is null");
        try (FloatPointer open = new FloatPointer(1L)) {
            refused(open, null, "dataType is null");
            assertThatThrownBy(() -> Tensor.ofPointer(open, DataType.FLOAT32, null))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("device is null");
        }
    }

    @Test
    void theTypeIsThatOfTheElements() {
        try (FloatPointer floats = new FloatPointer(2L);
                DoublePointer doubles = new DoublePointer(2L);
                IntPointer ints = new IntPointer(2L);
                LongPointer longs = new LongPointer(2L);
                ShortPointer shorts = new ShortPointer(2L);
                BoolPointer flags = new BoolPointer(2L);
                SizeTPointer sizes = new SizeTPointer(2L);
                BytePointer bytes = new BytePointer(16L)) {
            for (DataType type : DataType.values()) {
                assertTaken(floats, type, type == DataType.FLOAT32);
                assertTaken(doubles, type, type == DataType.FLOAT64);
                assertTaken(ints, type, type == DataType.INT32);
                assertTaken(longs, type, type == DataType.INT64);
                assertTaken(shorts, type, type.size() == 2);
                assertTaken(flags, type, type == DataType.BOOL);
                assertTaken(sizes, type, false);
                assertTaken(new Handle(bytes), type, false);
                assertThat(of(bytes, type).byteSize()).isEqualTo(16);
                assertThat(of(new Pointer(bytes), type).byteSize()).isEqualTo(16);
            }
            refused(bytes.limit(7), DataType.INT32, "not a whole number of int32");
            assertThat(of(bytes.limit(16).getPointer(FloatPointer.class), DataType.FLOAT32).count())
                    .isEqualTo(4);
        }
    }

    private static void assertTaken(Pointer pointer, DataType type, boolean expected) {
        if (expected) {
            assertThat(of(pointer, type).count()).isEqualTo(2);
        } else {
            refused(pointer, type, "is not known to hold " + type);
        }
    }

    /** JavaCPP takes the position of a typed buffer for bytes, and its pointer ends up beside. */
    @Test
    void aPointerBesideItsElementsIsRefused() {
        ByteBuffer memory = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder());
        FloatPointer beside = new FloatPointer(memory.asFloatBuffer().position(1));
        refused(beside, DataType.FLOAT32, "not a multiple");
    }
}

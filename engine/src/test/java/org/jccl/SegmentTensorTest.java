package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.reflect.Method;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/**
 * Tensors over segments of {@code java.lang.foreign}. By reflection, as its classes are younger
 * than the Java that the tests are compiled for.
 */
class SegmentTensorTest {

    private final Object arena;

    SegmentTensorTest() throws ReflectiveOperationException {
        arena = hasSegments() ? ofArena("ofShared") : null;
    }

    private static boolean hasSegments() {
        return Runtime.version().feature() >= 22;
    }

    private static Class<?> foreign(String name) throws ClassNotFoundException {
        return Class.forName("java.lang.foreign." + name);
    }

    private static Object ofArena(String kind) throws ReflectiveOperationException {
        return foreign("Arena").getMethod(kind).invoke(null);
    }

    private Object allocate(long bytes) throws ReflectiveOperationException {
        return foreign("Arena")
                .getMethod("allocate", long.class, long.class)
                .invoke(arena, bytes, 64L);
    }

    private static Object call(Object segment, String name, long... arguments)
            throws ReflectiveOperationException {
        Class<?>[] types = new Class<?>[arguments.length];
        Object[] values = new Object[arguments.length];
        for (int i = 0; i < arguments.length; i++) {
            types[i] = long.class;
            values[i] = arguments[i];
        }
        Method method = foreign("MemorySegment").getMethod(name, types);
        return method.invoke(segment, values);
    }

    private void closeArena() throws ReflectiveOperationException {
        foreign("Arena").getMethod("close").invoke(arena);
    }

    private static void refused(ThrowingCallable call, String words) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }

    @Test
    void sharesTheMemoryOfASegmentAndOfASlice() throws ReflectiveOperationException {
        assumeTrue(hasSegments(), "needs Java 22");
        Object segment = allocate(32);
        Tensor whole = Tensor.ofSegment(segment, DataType.FLOAT32);
        Tensor part = Tensor.ofSegment(call(segment, "asSlice", 8, 8), DataType.FLOAT32);
        assertThat(whole.count()).isEqualTo(8);
        assertThat(whole.address()).isEqualTo(call(segment, "address"));
        whole.copyFrom(new float[] {0, 1, 2, 3, 4, 5, 6, 7});
        assertThat(part.copyTo(new float[2])).containsExactly(2, 3);
        part.close();
        assertThat(whole.copyTo(new float[1])).containsExactly(0);
    }

    @Test
    void hasAnySize() throws ReflectiveOperationException {
        assumeTrue(hasSegments(), "needs Java 22");
        Object address =
                foreign("MemorySegment").getMethod("ofAddress", long.class).invoke(null, 4096L);
        Tensor large = Tensor.ofSegment(call(address, "reinterpret", 1L << 40), DataType.FLOAT64);
        assertThat(large.count()).isEqualTo(1L << 37);
        assertThat(Tensor.ofSegment(allocate(0), DataType.FLOAT64).count()).isZero();
    }

    @Test
    void aClosedArenaIsNoticed() throws ReflectiveOperationException {
        assumeTrue(hasSegments(), "needs Java 22");
        Object segment = allocate(16);
        Tensor tensor = Tensor.ofSegment(segment, DataType.FLOAT32);
        Tensor half = tensor.slice(0, 2);
        half.copyFrom(new float[] {1, 2});
        closeArena();
        refused(() -> half.copyTo(new float[2]), "closed");
        refused(() -> tensor.copyFrom(new float[2]), "closed");
        refused(() -> Tensor.ofSegment(segment, DataType.FLOAT32), "arena was closed");
    }

    @Test
    void refusesWhatALibraryCannotWriteTo() throws ReflectiveOperationException {
        assumeTrue(hasSegments(), "needs Java 22");
        Object heap =
                foreign("MemorySegment")
                        .getMethod("ofArray", byte[].class)
                        .invoke(null, new byte[8]);
        refused(() -> Tensor.ofSegment(heap, DataType.FLOAT32), "segment is on the heap");
        Object readOnly = call(allocate(8), "asReadOnly");
        refused(() -> Tensor.ofSegment(readOnly, DataType.FLOAT32), "read-only");
        Object odd = call(allocate(32), "asSlice", 2, 8);
        refused(() -> Tensor.ofSegment(odd, DataType.FLOAT32), "is not a multiple of the 4 bytes");
        Object short7 = allocate(7);
        refused(() -> Tensor.ofSegment(short7, DataType.FLOAT32), "segment has 7 bytes");
        refused(() -> Tensor.ofSegment("text", DataType.INT8), "got java.lang.String");
        refused(() -> Tensor.ofSegment(null, DataType.INT8), "null");
        refused(() -> Tensor.ofSegment(allocate(8), null), "dataType");
    }

    @Test
    void olderVersionsOfJavaAreNamed() {
        assumeTrue(!hasSegments(), "for Java before 22");
        refused(() -> Tensor.ofSegment("text", DataType.INT8), "segments need Java 22 or later");
    }
}

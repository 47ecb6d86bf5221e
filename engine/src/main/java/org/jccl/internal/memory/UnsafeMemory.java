package org.jccl.internal.memory;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.nio.Buffer;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/** Host memory through {@code sun.misc.Unsafe}, before Java 22. */
final class UnsafeMemory extends HostMemory {

    private static final long ALIGNMENT = 64;

    private final MethodHandle getLong;
    private final MethodHandle allocateMemory;
    private final MethodHandle freeMemory;
    private final MethodHandle setMemory;
    private final MethodHandle copyMemory;
    private final long bufferAddressOffset;
    private final long arrayBase;

    UnsafeMemory() throws ReflectiveOperationException {
        Class<?> type = Class.forName("sun.misc.Unsafe");
        Field field = type.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Object unsafe = field.get(null);
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        getLong =
                lookup.findVirtual(
                                type,
                                "getLong",
                                MethodType.methodType(long.class, Object.class, long.class))
                        .bindTo(unsafe);
        allocateMemory =
                lookup.findVirtual(
                                type,
                                "allocateMemory",
                                MethodType.methodType(long.class, long.class))
                        .bindTo(unsafe);
        freeMemory =
                lookup.findVirtual(
                                type, "freeMemory", MethodType.methodType(void.class, long.class))
                        .bindTo(unsafe);
        setMemory =
                lookup.findVirtual(
                                type,
                                "setMemory",
                                MethodType.methodType(
                                        void.class, long.class, long.class, byte.class))
                        .bindTo(unsafe);
        copyMemory =
                lookup.findVirtual(
                                type,
                                "copyMemory",
                                MethodType.methodType(
                                        void.class,
                                        Object.class,
                                        long.class,
                                        Object.class,
                                        long.class,
                                        long.class))
                        .bindTo(unsafe);
        bufferAddressOffset =
                (long)
                        type.getMethod("objectFieldOffset", Field.class)
                                .invoke(unsafe, Buffer.class.getDeclaredField("address"));
        arrayBase =
                ((Number)
                                type.getMethod("arrayBaseOffset", Class.class)
                                        .invoke(unsafe, byte[].class))
                        .longValue();
    }

    @Override
    public long address(Buffer buffer) {
        try {
            long base = (long) getLong.invokeExact((Object) buffer, bufferAddressOffset);
            return base + (long) buffer.position() * elementSize(buffer);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    private static int elementSize(Buffer buffer) {
        if (buffer instanceof java.nio.ByteBuffer) {
            return 1;
        }
        if (buffer instanceof java.nio.ShortBuffer || buffer instanceof java.nio.CharBuffer) {
            return 2;
        }
        return buffer instanceof java.nio.IntBuffer || buffer instanceof java.nio.FloatBuffer
                ? 4
                : 8;
    }

    @Override
    public Segment segment(Object segment) {
        throw new UsageException(
                FailureContext.NONE,
                "segments need Java 22 or later, this is Java " + Runtime.version().feature());
    }

    @Override
    Allocation allocateHere(long bytes) {
        try {
            long block = (long) allocateMemory.invokeExact(bytes + ALIGNMENT);
            long address = (block + ALIGNMENT - 1) & -ALIGNMENT;
            setMemory.invokeExact(address, bytes, (byte) 0);
            return new Allocation(address, () -> free(block));
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    private void free(long block) {
        try {
            freeMemory.invokeExact(block);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    @Override
    public void copy(long from, long to, long bytes) {
        copyMemory(null, from, null, to, bytes);
    }

    @Override
    public void copyFromArray(Object array, long offset, long to, long bytes) {
        copyMemory(array, arrayBase + offset, null, to, bytes);
    }

    @Override
    public void copyToArray(long from, Object array, long offset, long bytes) {
        copyMemory(null, from, array, arrayBase + offset, bytes);
    }

    private void copyMemory(Object from, long fromOffset, Object to, long toOffset, long n) {
        try {
            copyMemory.invokeExact(from, fromOffset, to, toOffset, n);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }
}

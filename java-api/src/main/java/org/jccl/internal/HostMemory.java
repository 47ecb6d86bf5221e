package org.jccl.internal;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.nio.Buffer;

/**
 * Host memory by address: the one place that depends on the Java version.
 *
 * <p>From Java 22 on it uses {@code java.lang.foreign}; before, {@code sun.misc.Unsafe}. Both are
 * reached through method handles, since neither can be named in code for Java 17 that compiles
 * without warnings.
 */
public abstract sealed class HostMemory {

    private static final class Holder {
        static final HostMemory INSTANCE = create();

        private static HostMemory create() {
            try {
                return Runtime.version().feature() >= 22 ? new Foreign() : new Unsafe();
            } catch (ReflectiveOperationException e) {
                throw new LinkageError("this Java runtime gives no access to native memory", e);
            }
        }
    }

    /**
     * The implementation for this Java version.
     *
     * @return the only instance
     */
    public static HostMemory get() {
        return Holder.INSTANCE;
    }

    /**
     * Address of a direct buffer's first remaining element.
     *
     * @param buffer a direct buffer
     * @return the address
     */
    public abstract long address(Buffer buffer);

    /**
     * Allocates zeroed memory, aligned to at least 64 bytes.
     *
     * @param bytes size, not 0
     * @return the memory; close it to free
     */
    public abstract Allocation allocate(long bytes);

    /**
     * Copies between addresses. The ranges may overlap.
     *
     * @param from source address
     * @param to target address
     * @param bytes how many
     */
    public abstract void copy(long from, long to, long bytes);

    /**
     * Copies from a primitive array.
     *
     * @param array the array
     * @param offset bytes to skip in it
     * @param to target address
     * @param bytes how many
     */
    public abstract void copyFromArray(Object array, long offset, long to, long bytes);

    /**
     * Copies to a primitive array.
     *
     * @param from source address
     * @param array the array
     * @param offset bytes to skip in it
     * @param bytes how many
     */
    public abstract void copyToArray(long from, Object array, long offset, long bytes);

    /** Scratch memory for {@link Staging}; used by one thread at a time. */
    final Staging.Memory scratch() {
        return new Staging.Memory() {
            private final java.util.Map<Long, Runnable> releases = new java.util.HashMap<>();

            @Override
            public long allocate(long bytes) {
                Allocation allocation = HostMemory.this.allocate(bytes);
                releases.put(allocation.address(), allocation.release());
                return allocation.address();
            }

            @Override
            public void free(long address) {
                releases.remove(address).run();
            }

            @Override
            public void copy(long from, long to, long bytes) {
                HostMemory.this.copy(from, to, bytes);
            }
        };
    }

    /**
     * Memory that this process owns.
     *
     * @param address first byte
     * @param release frees it; called at most once
     */
    public record Allocation(long address, Runnable release) {}

    private static RuntimeException rethrow(Throwable failure) {
        if (failure instanceof RuntimeException unchecked) {
            return unchecked;
        }
        if (failure instanceof Error error) {
            throw error;
        }
        return new IllegalStateException(failure);
    }

    private static final class Unsafe extends HostMemory {

        private static final long ALIGNMENT = 64;

        private final MethodHandle getLong;
        private final MethodHandle allocateMemory;
        private final MethodHandle freeMemory;
        private final MethodHandle setMemory;
        private final MethodHandle copyMemory;
        private final long bufferAddressOffset;
        private final long arrayBase;

        Unsafe() throws ReflectiveOperationException {
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
                                    type,
                                    "freeMemory",
                                    MethodType.methodType(void.class, long.class))
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
        public Allocation allocate(long bytes) {
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

    private static final class Foreign extends HostMemory {

        private static final long ALIGNMENT = 64;

        private final MethodHandle ofBuffer;
        private final MethodHandle addressOf;
        private final MethodHandle copySegment;
        private final MethodHandle openArena;
        private final MethodHandle allocateInArena;
        private final MethodHandle closeArena;
        private final java.util.Map<Class<?>, MethodHandle> ofArray = new java.util.HashMap<>();
        private final Object everything;

        Foreign() throws ReflectiveOperationException {
            Class<?> segment = Class.forName("java.lang.foreign.MemorySegment");
            Class<?> arena = Class.forName("java.lang.foreign.Arena");
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            ofBuffer =
                    lookup.findStatic(
                                    segment,
                                    "ofBuffer",
                                    MethodType.methodType(segment, Buffer.class))
                            .asType(MethodType.methodType(Object.class, Buffer.class));
            addressOf =
                    lookup.findVirtual(segment, "address", MethodType.methodType(long.class))
                            .asType(MethodType.methodType(long.class, Object.class));
            copySegment =
                    lookup.findStatic(
                                    segment,
                                    "copy",
                                    MethodType.methodType(
                                            void.class,
                                            segment,
                                            long.class,
                                            segment,
                                            long.class,
                                            long.class))
                            .asType(
                                    MethodType.methodType(
                                            void.class,
                                            Object.class,
                                            long.class,
                                            Object.class,
                                            long.class,
                                            long.class));
            openArena =
                    lookup.findStatic(arena, "ofShared", MethodType.methodType(arena))
                            .asType(MethodType.methodType(Object.class));
            allocateInArena =
                    lookup.findVirtual(
                                    arena,
                                    "allocate",
                                    MethodType.methodType(segment, long.class, long.class))
                            .asType(
                                    MethodType.methodType(
                                            Object.class, Object.class, long.class, long.class));
            closeArena =
                    lookup.findVirtual(arena, "close", MethodType.methodType(void.class))
                            .asType(MethodType.methodType(void.class, Object.class));
            for (Class<?> array :
                    new Class<?>[] {
                        byte[].class,
                        short[].class,
                        int[].class,
                        long[].class,
                        float[].class,
                        double[].class
                    }) {
                ofArray.put(
                        array,
                        lookup.findStatic(segment, "ofArray", MethodType.methodType(segment, array))
                                .asType(MethodType.methodType(Object.class, Object.class)));
            }
            try {
                Object nothing = segment.getField("NULL").get(null);
                everything =
                        lookup.findVirtual(
                                        segment,
                                        "reinterpret",
                                        MethodType.methodType(segment, long.class))
                                .invoke(nothing, Long.MAX_VALUE);
            } catch (ReflectiveOperationException e) {
                throw e;
            } catch (Throwable e) {
                throw new IllegalStateException(
                        "native access is denied; start Java with --enable-native-access=ALL-UNNAMED"
                                + " (class path) or --enable-native-access=org.jccl.api (module path)",
                        e);
            }
        }

        @Override
        public long address(Buffer buffer) {
            try {
                Object segment = (Object) ofBuffer.invokeExact(buffer);
                return (long) addressOf.invokeExact(segment);
            } catch (Throwable e) {
                throw rethrow(e);
            }
        }

        @Override
        public Allocation allocate(long bytes) {
            try {
                Object arena = (Object) openArena.invokeExact();
                Object segment = (Object) allocateInArena.invokeExact(arena, bytes, ALIGNMENT);
                return new Allocation((long) addressOf.invokeExact(segment), () -> free(arena));
            } catch (Throwable e) {
                throw rethrow(e);
            }
        }

        private void free(Object arena) {
            try {
                closeArena.invokeExact(arena);
            } catch (Throwable e) {
                throw rethrow(e);
            }
        }

        @Override
        public void copy(long from, long to, long bytes) {
            copySegment(everything, from, everything, to, bytes);
        }

        @Override
        public void copyFromArray(Object array, long offset, long to, long bytes) {
            copySegment(segmentOf(array), offset, everything, to, bytes);
        }

        @Override
        public void copyToArray(long from, Object array, long offset, long bytes) {
            copySegment(everything, from, segmentOf(array), offset, bytes);
        }

        private Object segmentOf(Object array) {
            try {
                return (Object) ofArray.get(array.getClass()).invokeExact(array);
            } catch (Throwable e) {
                throw rethrow(e);
            }
        }

        private void copySegment(Object from, long fromOffset, Object to, long toOffset, long n) {
            try {
                copySegment.invokeExact(from, fromOffset, to, toOffset, n);
            } catch (Throwable e) {
                throw rethrow(e);
            }
        }
    }
}

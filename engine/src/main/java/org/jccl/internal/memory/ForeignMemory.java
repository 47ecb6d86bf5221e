package org.jccl.internal.memory;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.Buffer;
import java.util.HashMap;
import java.util.Map;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/** Host memory through {@code java.lang.foreign}, from Java 22 on. */
final class ForeignMemory extends HostMemory {

    private static final long ALIGNMENT = 64;

    private final MethodHandle ofBuffer;
    private final Class<?> segmentClass;
    private final MethodHandle addressOf;
    private final MethodHandle byteSize;
    private final MethodHandle isNative;
    private final MethodHandle isReadOnly;
    private final MethodHandle scopeOf;
    private final MethodHandle isAlive;
    private final MethodHandle copySegment;
    private final MethodHandle openArena;
    private final MethodHandle allocateInArena;
    private final MethodHandle closeArena;
    private final Map<Class<?>, MethodHandle> ofArray = new HashMap<>();
    private final Object everything;

    ForeignMemory() throws ReflectiveOperationException {
        Class<?> segment = Class.forName("java.lang.foreign.MemorySegment");
        Class<?> arena = Class.forName("java.lang.foreign.Arena");
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        ofBuffer =
                lookup.findStatic(segment, "ofBuffer", MethodType.methodType(segment, Buffer.class))
                        .asType(MethodType.methodType(Object.class, Buffer.class));
        Class<?> scope = Class.forName("java.lang.foreign.MemorySegment$Scope");
        segmentClass = segment;
        addressOf = getter(segment, "address", long.class);
        byteSize = getter(segment, "byteSize", long.class);
        isNative = getter(segment, "isNative", boolean.class);
        isReadOnly = getter(segment, "isReadOnly", boolean.class);
        scopeOf = getter(segment, "scope", scope);
        isAlive = getter(scope, "isAlive", boolean.class);
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
                            + " (class path) or --enable-native-access=org.jccl.engine (module path)",
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
    public Segment segment(Object given) {
        if (!segmentClass.isInstance(given)) {
            throw usage(
                    "a java.lang.foreign.MemorySegment is required, got "
                            + (given == null ? "null" : given.getClass().getName()));
        }
        try {
            if (!(boolean) isNative.invokeExact(given)) {
                throw usage(
                        "segment is on the heap, where the garbage collector moves it; allocate it"
                                + " in an Arena");
            }
            if ((boolean) isReadOnly.invokeExact(given)) {
                throw usage("segment is read-only; collectives write to tensors");
            }
            Object scope = (Object) scopeOf.invokeExact(given);
            if (!isAlive(scope)) {
                throw usage("segment is closed: its arena was closed");
            }
            return new Segment(
                    (long) addressOf.invokeExact(given),
                    (long) byteSize.invokeExact(given),
                    () -> isAlive(scope));
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    private boolean isAlive(Object scope) {
        try {
            return (boolean) isAlive.invokeExact(scope);
        } catch (Throwable e) {
            throw rethrow(e);
        }
    }

    private static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, message);
    }

    private static MethodHandle getter(Class<?> of, String name, Class<?> type)
            throws ReflectiveOperationException {
        Class<?> erased = type.isPrimitive() ? type : Object.class;
        return MethodHandles.lookup()
                .findVirtual(of, name, MethodType.methodType(type))
                .asType(MethodType.methodType(erased, Object.class));
    }

    @Override
    Allocation allocateHere(long bytes) {
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

package org.jccl.internal.memory;

import java.nio.Buffer;
import java.util.List;
import java.util.ServiceLoader;
import java.util.function.BooleanSupplier;
import org.jccl.UsageException;
import org.jccl.spi.HostAllocator;
import org.jccl.spi.Services;

/**
 * Host memory by address: the one place that depends on the Java version.
 *
 * <p>From Java 22 on it uses {@code java.lang.foreign}; before, {@code sun.misc.Unsafe}. Both are
 * reached through method handles, since neither can be named in code for Java 17 that compiles
 * without warnings.
 */
public abstract sealed class HostMemory permits UnsafeMemory, ForeignMemory {

    /** For the two subclasses. */
    HostMemory() {}

    /** Larger allocations are worth huge pages. */
    private static final long LARGE_BYTES = 1 << 20;

    /** Loaded late, because not all programs have large tensors. */
    private static final class Allocators {
        static final List<HostAllocator> PRESENT =
                Services.of(
                        ServiceLoader.load(HostAllocator.class, HostMemory.class.getClassLoader()),
                        ServiceLoader.load(HostAllocator.class));
    }

    private static final class Holder {
        static final HostMemory INSTANCE = create();

        private static HostMemory create() {
            try {
                return Runtime.version().feature() >= 22 ? new ForeignMemory() : new UnsafeMemory();
            } catch (ReflectiveOperationException e) {
                throw new LinkageError("this Java runtime gives no access to native memory", e);
            }
        }
    }

    /** The implementation for this Java version. */
    public static HostMemory get() {
        return Holder.INSTANCE;
    }

    /** Address of a direct buffer's first remaining element. */
    public abstract long address(Buffer buffer);

    /**
     * Memory of a segment of {@code java.lang.foreign}.
     *
     * @param address first byte
     * @param bytes size
     * @param alive whether its arena is open
     */
    public record Segment(long address, long bytes, BooleanSupplier alive) {}

    /**
     * Returns the memory of a segment.
     *
     * @throws UsageException if it is no segment, or a library cannot write to it
     */
    public abstract Segment segment(Object segment);

    /**
     * Allocates zeroed memory, aligned to at least 64 bytes; 1 MB and more in huge pages if a
     * binding allocates them.
     *
     * @param bytes size, not 0
     * @return the memory; close it to free
     */
    public final Allocation allocate(long bytes) {
        if (bytes >= LARGE_BYTES) {
            for (HostAllocator allocator : Allocators.PRESENT) {
                long address = allocator.allocate(bytes);
                if (address != 0) {
                    return new Allocation(address, () -> allocator.free(address, bytes));
                }
            }
        }
        return allocateHere(bytes);
    }

    /** Allocates from the JVM. */
    abstract Allocation allocateHere(long bytes);

    /** Copies between addresses. The ranges may overlap. */
    public abstract void copy(long from, long to, long bytes);

    /** Copies from a primitive array. */
    public abstract void copyFromArray(Object array, long offset, long to, long bytes);

    /** Copies to a primitive array. */
    public abstract void copyToArray(long from, Object array, long offset, long bytes);

    /** Scratch memory through which an engine copies; used by one thread at a time. */
    public final ScratchMemory scratch() {
        return new ScratchMemory() {
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

    static RuntimeException rethrow(Throwable failure) {
        if (failure instanceof RuntimeException unchecked) {
            return unchecked;
        }
        if (failure instanceof Error error) {
            throw error;
        }
        return new IllegalStateException(failure);
    }
}

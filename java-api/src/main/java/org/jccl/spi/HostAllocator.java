package org.jccl.spi;

/**
 * Allocates host memory for large tensors. A binding that has native code provides it as a service
 * ({@link java.util.ServiceLoader}). The first one that returns memory is used; without one, the
 * JVM allocates. Implementations must be thread-safe.
 */
public interface HostAllocator {

    /**
     * Allocates zeroed memory in the largest pages that the system provides.
     *
     * @param bytes the size, at least 1 MB
     * @return the address, aligned to at least 64 bytes; 0 if there is no memory
     */
    long allocate(long bytes);

    /**
     * Frees memory. Called once for each address.
     *
     * @param address an address from {@link #allocate}
     * @param bytes the size that was allocated
     */
    void free(long address, long bytes);
}

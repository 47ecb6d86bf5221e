package org.jccl.spi;

/**
 * Host memory for large tensors, from a binding that brings native code. Found by {@link
 * java.util.ServiceLoader}; the first that has memory is used, and without one it comes from the
 * JVM. Safe for use by several threads.
 */
public interface HostAllocator {

    /**
     * Allocates zeroed memory in the largest pages that the system gives.
     *
     * @param bytes size, at least 1 MB
     * @return its address, aligned to at least 64 bytes; 0 when there is none to be had here
     */
    long allocate(long bytes);

    /**
     * Frees memory.
     *
     * @param address from {@link #allocate}; given back once
     * @param bytes the size that was asked for
     */
    void free(long address, long bytes);
}

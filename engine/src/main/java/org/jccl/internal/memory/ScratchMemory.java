package org.jccl.internal.memory;

/** Where scratch memory comes from. */
public interface ScratchMemory {
    long allocate(long bytes);

    void free(long address);

    void copy(long from, long to, long bytes);

    /** Waits for the copies, if copies are only enqueued. */
    default void finishCopies() {}

    /** Called last, when everything is freed. */
    default void close() {}
}

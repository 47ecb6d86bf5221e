package org.jccl.internal.memory;

/** Where scratch memory comes from. */
public interface ScratchMemory {
    long allocate(long bytes);

    void free(long address);

    void copy(long from, long to, long bytes);

    /** Returns when what was copied is there, where copies are only enqueued. */
    default void finishCopies() {}

    /** Called last, when all is freed. */
    default void close() {}
}

package org.jccl.hccl;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;

/** A few bytes of native memory for each thread, in which calls return results. */
final class ThreadScratch {

    private static final int BYTES = 64;

    private final ThreadLocal<Memory> memory = ThreadLocal.withInitial(() -> new Memory(BYTES));

    /** The first byte's address, valid on this thread. */
    long address() {
        return Pointer.nativeValue(memory.get());
    }

    int getInt() {
        return memory.get().getInt(0);
    }

    long getLong() {
        return memory.get().getLong(0);
    }

    float getFloat() {
        return memory.get().getFloat(0);
    }
}

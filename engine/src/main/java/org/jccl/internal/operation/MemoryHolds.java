package org.jccl.internal.operation;

import java.util.Arrays;
import java.util.function.Consumer;
import org.jccl.internal.memory.Memory;

/**
 * Memory of operations whose objects are already reused while the device still runs them. For one
 * thread at a time.
 */
public final class MemoryHolds {

    private Memory[] held = new Memory[8];
    private int count;
    private final Consumer<Memory> adding = this::add;

    /** Takes over the memory of an operation. */
    public void takeFrom(Operation operation) {
        operation.moveHolds(adding);
    }

    /** One hold is enough if the previous operation used the same memory. */
    private void add(Memory memory) {
        if (count > 0 && held[count - 1] == memory || count > 1 && held[count - 2] == memory) {
            memory.release();
            return;
        }
        if (count == held.length) {
            held = Arrays.copyOf(held, 2 * count);
        }
        held[count++] = memory;
    }

    /** Hands all memory over. */
    public void moveTo(MemoryHolds other) {
        end(other.adding);
    }

    /** Releases all memory. */
    public void release() {
        end(Memory::release);
    }

    /**
     * Retains all memory until the process ends, because it is unknown when native code stops using
     * it.
     */
    public void retain() {
        end(Memory::retain);
    }

    private void end(Consumer<Memory> end) {
        for (int i = 0; i < count; i++) {
            end.accept(held[i]);
            held[i] = null;
        }
        count = 0;
    }
}

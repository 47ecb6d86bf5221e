package org.jccl.internal.operation;

import java.util.Arrays;
import java.util.function.Consumer;
import org.jccl.internal.memory.Memory;

/**
 * Memory of operations whose objects are used for others already, while the device still runs them.
 * For one thread at a time.
 */
public final class MemoryHolds {

    private Memory[] held = new Memory[8];
    private int count;
    private final Consumer<Memory> adding = this::add;

    /** Takes over an operation's holds. */
    public void takeFrom(Operation operation) {
        operation.moveHolds(adding);
    }

    /** One hold is enough for what the operation before has used too. */
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

    /** Hands all over. */
    public void moveTo(MemoryHolds other) {
        end(other.adding);
    }

    /** Ends all holds. */
    public void release() {
        end(Memory::release);
    }

    /** Has all holds last until the process ends, where nobody will know when they may end. */
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

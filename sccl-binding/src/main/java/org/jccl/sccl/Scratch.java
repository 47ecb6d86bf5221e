package org.jccl.sccl;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Device memory for what the library must be given and nobody else has: outputs on other ranks than
 * the root, copies of inputs. Grown and kept; each queue has its own, which is used in its order.
 */
final class Scratch {

    private static final class Piece {
        private long address;
        private long capacity;
    }

    private final TpuRuntime runtime;

    /** What is in use; a queue may still use smaller ones. */
    private final Map<TpuQueue, Piece> pieces = new HashMap<>();

    private final List<Long> addresses = new ArrayList<>();

    Scratch(TpuRuntime runtime) {
        this.runtime = runtime;
    }

    /**
     * Memory of at least so many bytes, of any content, in the order of a queue; 0 where no
     * operation had any bytes yet.
     */
    long reserve(TpuQueue queue, long bytes) {
        Piece piece = pieces.computeIfAbsent(queue, made -> new Piece());
        if (bytes > piece.capacity) {
            long larger = Math.max(bytes, 2 * piece.capacity);
            piece.address = runtime.allocate(larger);
            piece.capacity = larger;
            addresses.add(piece.address);
        }
        return piece.address;
    }

    /** Once no operation uses it. */
    void free() {
        addresses.forEach(runtime::free);
        addresses.clear();
        pieces.clear();
    }
}

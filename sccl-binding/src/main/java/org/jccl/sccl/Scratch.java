package org.jccl.sccl;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Device memory for buffers that the library requires and the caller does not have: outputs on
 * ranks other than the root, and copies of inputs. Each queue has its own memory, which grows and
 * is used in the order of the queue.
 */
final class Scratch {

    private static final class Piece {
        private long address;
        private long capacity;
    }

    private final TpuRuntime runtime;

    /** The current memory of each queue. A queue may still use smaller memory that it replaced. */
    private final Map<TpuQueue, Piece> pieces = new HashMap<>();

    private final List<Long> addresses = new ArrayList<>();

    Scratch(TpuRuntime runtime) {
        this.runtime = runtime;
    }

    /**
     * Returns memory of at least so many bytes, with any content, for use in the order of a queue;
     * 0 if no operation needed any bytes yet.
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

    /** Frees all memory. No operation may use it any more. */
    void free() {
        addresses.forEach(runtime::free);
        addresses.clear();
        pieces.clear();
    }
}

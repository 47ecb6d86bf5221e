package org.jccl.sccl;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Device memory for buffers that the library requires and the caller does not have: outputs on
 * ranks other than the root, and copies of inputs. Each queue has its own memory, which grows and
 * is used in the order of the queue. For the device's thread only.
 */
final class Scratch {

    /** Larger memory is not rounded up, because nobody may need the rest. */
    private static final long MOST_DOUBLED = 64L << 20;

    private static final class Piece {
        private long address;
        private long capacity;
    }

    /** Memory that became too small, and the position behind its last use. */
    private record Outgrown(TpuQueue queue, long position, long address) {}

    private final TpuRuntime runtime;
    private final Map<TpuQueue, Piece> pieces = new HashMap<>();
    private final List<Outgrown> outgrown = new ArrayList<>();

    Scratch(TpuRuntime runtime) {
        this.runtime = runtime;
    }

    /**
     * Returns memory of at least so many bytes, with any content, for use in the order of a queue;
     * 0 if no operation needed any bytes yet.
     */
    long reserve(TpuQueue queue, long bytes) {
        freeOutgrown();
        Piece piece = pieces.computeIfAbsent(queue, made -> new Piece());
        if (bytes > piece.capacity) {
            long larger = capacity(bytes, piece.capacity);
            long address = runtime.allocate(larger);
            if (piece.capacity > 0) {
                outgrown.add(new Outgrown(queue, queue.nextPosition(), piece.address));
            }
            piece.address = address;
            piece.capacity = larger;
        }
        return piece.address;
    }

    private static long capacity(long bytes, long before) {
        return Math.max(bytes, Math.min(2 * before, MOST_DOUBLED));
    }

    private void freeOutgrown() {
        for (Iterator<Outgrown> all = outgrown.iterator(); all.hasNext(); ) {
            Outgrown old = all.next();
            if (old.queue.hasPassed(old.position)) {
                all.remove();
                runtime.free(old.address);
            }
        }
    }

    /** Frees all memory. No operation may use it any more. */
    void free() {
        outgrown.forEach(old -> runtime.free(old.address));
        outgrown.clear();
        pieces.values().forEach(piece -> runtime.free(piece.address));
        pieces.clear();
    }
}

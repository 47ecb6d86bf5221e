package org.jccl.training;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.Work;

/** Memory for whole units: one piece for each unit, or a pool of a few pieces. */
final class WholeUnits implements AutoCloseable {

    /** Memory for a unit, and the operation that may still read it. */
    static final class Piece {
        final Tensor memory;
        private Work reader;

        Piece(Tensor memory) {
            this.memory = memory;
        }
    }

    private final List<Piece> all = new ArrayList<>();
    private final Deque<Piece> free = new ArrayDeque<>();

    WholeUnits(ProcessGroup group, Device device, DataType type, long largest, int pieces) {
        for (int i = 0; i < pieces; i++) {
            all.add(new Piece(group.allocate(device, type, largest)));
        }
        free.addAll(all);
    }

    /**
     * Returns the piece that was released first, or null if none is free. Waits until no operation
     * reads the piece.
     */
    Piece take() {
        Piece piece = free.poll();
        if (piece != null && piece.reader != null) {
            piece.reader.await();
            piece.reader = null;
        }
        return piece;
    }

    void giveBack(Piece piece, Work reader) {
        piece.reader = reader;
        free.add(piece);
    }

    int count() {
        return all.size();
    }

    @Override
    public void close() {
        all.forEach(piece -> piece.memory.close());
    }
}

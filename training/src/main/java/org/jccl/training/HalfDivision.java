package org.jccl.training;

import org.jccl.Tensor;

/**
 * Divides float16 elements by the number of ranks before the reduction, as PyTorch does. Backends
 * without {@link org.jccl.ProcessGroup#scalesAverages} divide the sum, which may overflow although
 * the average is finite. Copies through an array, also from and to devices; its pieces fit a
 * processor's second cache.
 */
final class HalfDivision {

    private static final int PIECE = 1 << 17;

    private final Tensor[] pieces;
    private final short[] bits = new short[PIECE];
    private final short[] lastBits;

    HalfDivision(Tensor tensor) {
        pieces = new Tensor[Math.toIntExact((tensor.count() + PIECE - 1) / PIECE)];
        int length = 0;
        for (int i = 0; i < pieces.length; i++) {
            long offset = (long) i * PIECE;
            length = (int) Math.min(PIECE, tensor.count() - offset);
            pieces[i] = tensor.slice(offset, length);
        }
        lastBits = new short[length];
    }

    void by(int ranks) {
        for (int i = 0; i < pieces.length; i++) {
            short[] piece = i == pieces.length - 1 ? lastBits : bits;
            pieces[i].copyTo(piece);
            for (int k = 0; k < piece.length; k++) {
                piece[k] = HalfFloats.toFloat16(HalfFloats.ofFloat16(piece[k]) / ranks);
            }
            pieces[i].copyFrom(piece);
        }
    }
}

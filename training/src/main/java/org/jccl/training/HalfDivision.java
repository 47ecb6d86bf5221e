package org.jccl.training;

import org.jccl.Tensor;

/**
 * Divides float16 by the number of ranks before it is added up, as PyTorch does: the libraries of
 * the CPU divide the sum, which may be infinite where the average is not. Through an array, in
 * pieces that stay in the cache.
 */
final class HalfDivision {

    private static final int PIECE = 4096;

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

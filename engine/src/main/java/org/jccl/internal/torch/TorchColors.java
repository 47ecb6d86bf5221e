package org.jccl.internal.torch;

import java.util.List;

/** The colors with which PyTorch's ranks split the communicator of a world. */
final class TorchColors {

    private static final long XX_PRIME_1 = 0x9E3779B185EBCA87L;
    private static final long XX_PRIME_2 = 0xC2B2AE3D27D4EB4FL;
    private static final long XX_PRIME_5 = 0x27D4EB2F165667C5L;
    private static final int XX_ROTATION = 31;
    private static final long TUPLE_LENGTH_MIX = 3527539L;
    private static final long IN_PLACE_OF_MINUS_ONE = 1546275796L;
    private static final long COLORS = 1L << 31;

    private TorchColors() {}

    /**
     * Returns the color of a group that is split from the world's communicator: Python's {@code
     * abs(hash(tuple(ranks))) % 2**31}.
     *
     * @param worldRanks the ranks of the group, in its order
     */
    static int of(List<Integer> worldRanks) {
        // The remainder is also right for the smallest long, whose abs is negative.
        return (int) (Math.abs(tupleHash(worldRanks)) % COLORS);
    }

    /** Computes Python's hash of a tuple of non-negative numbers, which are their own hashes. */
    private static long tupleHash(List<Integer> numbers) {
        long hash = XX_PRIME_5;
        for (int number : numbers) {
            hash = Long.rotateLeft(hash + number * XX_PRIME_2, XX_ROTATION) * XX_PRIME_1;
        }
        hash += numbers.size() ^ (XX_PRIME_5 ^ TUPLE_LENGTH_MIX);
        return hash == -1 ? IN_PLACE_OF_MINUS_ONE : hash;
    }
}

package org.jccl.soak;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;

/**
 * The random numbers of a group's calls, and the tensors that they lead to. Ranks with the same
 * seed draw the same.
 */
final class Draw {

    private static final ReduceOp[] OPS = {
        ReduceOp.SUM,
        ReduceOp.AVG,
        ReduceOp.PRODUCT,
        ReduceOp.MIN,
        ReduceOp.MAX,
        ReduceOp.BAND,
        ReduceOp.BOR,
        ReduceOp.BXOR,
        ReduceOp.premulSum(Values.FACTOR)
    };

    private final Device device;
    private final Random random;
    private final long seed;
    private final int rank;
    private final int size;

    /** Of the next tensors. */
    private DataType type;

    /** Of the next reductions. */
    private ReduceOp op;

    Draw(ProcessGroup group, Device device, long seed) {
        this.device = device;
        this.seed = seed;
        this.random = new Random(seed);
        this.rank = group.rank();
        this.size = group.size();
    }

    /** A number from 0 on and below a bound. */
    int number(int bound) {
        return random.nextInt(bound);
    }

    /** Draws the type of the next tensors and the reduction. */
    void typeAndOp() {
        type = any(DataType.values());
        op = any(OPS);
    }

    /** Whether what was drawn can be reduced. */
    boolean reduces() {
        return op.supports(type) && !type.isFloat8();
    }

    DataType type() {
        return type;
    }

    ReduceOp op() {
        return op;
    }

    Block block(long count) {
        return block(0, count);
    }

    Block block(int gap, long... counts) {
        return new Block(device, type, gap, counts);
    }

    /** Mostly few; sometimes more than goes into one packet, or than a library's buffer. */
    int count() {
        int kind = random.nextInt(100);
        if (kind < 72) {
            return random.nextInt(64);
        }
        return random.nextInt(kind < 93 ? 2000 : kind < 99 ? 20_000 : 100_000);
    }

    long[] counts() {
        int most = 1 + count();
        return random.ints(size, 0, most).asLongStream().toArray();
    }

    long[] equal(int count) {
        return IntStream.range(0, size).mapToLong(i -> count).toArray();
    }

    /** Elements for a rank by the rank that sends them. */
    long[][] matrix() {
        long[][] counts = new long[size][];
        int most = 1 + count();
        for (int i = 0; i < size; i++) {
            counts[i] = random.ints(size, 0, most).asLongStream().toArray();
        }
        return counts;
    }

    long[] column(long[][] counts) {
        return Arrays.stream(counts).mapToLong(row -> row[rank]).toArray();
    }

    int gap() {
        return random.nextInt(2);
    }

    private <T> T any(T[] values) {
        return values[random.nextInt(values.length)];
    }

    byte[] input(long place, int of, int count) {
        return Values.input(type, op, size, Values.mix(seed, place), of, count);
    }

    byte[] reduced(long place, int count) {
        return Values.reduced(type, op, size, Values.mix(seed, place), count);
    }

    /** What a rank has for a place. */
    byte[] moved(long place, int of, int count) {
        return Values.moved(type, Values.mix(seed, place, of), count);
    }

    byte[] everybodys(long place, int count) {
        byte[] all = new byte[count * size * type.size()];
        for (int i = 0; i < size; i++) {
            copy(moved(place, i, count), all, i);
        }
        return all;
    }

    static void copy(byte[] part, byte[] all, int index) {
        System.arraycopy(part, 0, all, index * part.length, part.length);
    }

    static byte[] joined(byte[] first, byte[] second) {
        byte[] both = Arrays.copyOf(first, first.length + second.length);
        System.arraycopy(second, 0, both, first.length, second.length);
        return both;
    }
}

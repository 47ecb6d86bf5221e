package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jccl.Availability;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Element i of rank r is {@code r * 1_000_000 + i}, so that each result tells where it is from. */
class GlooCollectivesTest {

    private static final DataType TYPE = DataType.INT32;

    private static final DataType FLOAT = DataType.FLOAT32;

    /** Nothing, less than a rank each, odd, and more than one segment of the rings. */
    private static final int[] COUNTS = {0, 1, 7, 1000, 300_001};

    private static Memory numbers(int rank, int count) {
        Memory memory = Memory.bytes(count * Integer.BYTES);
        for (int i = 0; i < count; i++) {
            memory.bytes.putInt(i * Integer.BYTES, rank * 1_000_000 + i);
        }
        return memory;
    }

    private static int[] part(int rank, int from, int count) {
        return IntStream.range(from, from + count).map(i -> rank * 1_000_000 + i).toArray();
    }

    private static int[] sum(int size, int from, int count) {
        int ranks = size * (size - 1) / 2 * 1_000_000;
        return IntStream.range(from, from + count).map(i -> ranks + size * i).toArray();
    }

    private static int[] concat(int size, java.util.function.IntFunction<int[]> parts) {
        return IntStream.range(0, size).mapToObj(parts).flatMapToInt(Arrays::stream).toArray();
    }

    /** Different for each rank, one of them nothing. */
    private static long[] uneven(int size, int count) {
        return IntStream.range(0, size).mapToLong(r -> r == 1 ? 0 : count + r).toArray();
    }

    private static int total(long[] counts) {
        return (int) Arrays.stream(counts).sum();
    }

    private static int offset(long[] counts, int rank) {
        return (int) Arrays.stream(counts).limit(rank).sum();
    }

    @Test
    void isAvailableWithVersionAndPath() {
        assertThat(new GlooProvider().availability())
                .isInstanceOfSatisfying(
                        Availability.Available.class,
                        found -> {
                            assertThat(found.version()).isEqualTo("0.5.0");
                            assertThat(found.path()).endsWith("libjccl_gloo.so");
                        });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void allReduce(int size) throws Exception {
        Ranks.run(
                size,
                (rank, communicator) -> {
                    for (int count : COUNTS) {
                        Memory in = numbers(rank, count);
                        Memory out = Memory.bytes(count * Integer.BYTES);
                        communicator.allReduce(in.address, out.address, count, TYPE, ReduceOp.SUM);
                        assertThat(out.ints()).isEqualTo(sum(size, 0, count));
                        assertThat(in.ints()).isEqualTo(part(rank, 0, count));
                        communicator.allReduce(in.address, in.address, count, TYPE, ReduceOp.SUM);
                        assertThat(in.ints()).isEqualTo(sum(size, 0, count));
                    }
                    return null;
                });
    }

    /** The order of additions depends on the number of ranks alone, but for large tensors. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 7, 8})
    void sumsHaveTheSameBitsOnAllRanksInAllSizesAndOperations(int size) throws Exception {
        int few = 840 * size;
        int many = 200_000;
        List<List<Integer>> results =
                Ranks.run(
                        size,
                        (rank, communicator) -> {
                            Memory all = floats(rank, many);
                            communicator.allReduce(
                                    all.address, all.address, many, FLOAT, ReduceOp.SUM);
                            List<Integer> sums = bits(all, 0, few);

                            Memory start = floats(rank, few);
                            communicator.allReduce(
                                    start.address, start.address, few, FLOAT, ReduceOp.SUM);
                            assertThat(bits(start, 0, few)).isEqualTo(sums);

                            Memory in = floats(rank, few);
                            Memory part = Memory.bytes(840 * Float.BYTES);
                            communicator.reduceScatter(
                                    in.address, part.address, 840, FLOAT, ReduceOp.SUM);
                            assertThat(bits(part, 0, 840))
                                    .isEqualTo(sums.subList(rank * 840, (rank + 1) * 840));

                            Memory out = Memory.bytes(few * Float.BYTES);
                            communicator.reduce(
                                    in.address,
                                    rank == 0 ? out.address : 0,
                                    few,
                                    FLOAT,
                                    ReduceOp.SUM,
                                    0);
                            if (rank == 0) {
                                assertThat(bits(out, 0, few)).isEqualTo(sums);
                            }
                            return sums;
                        });
        assertThat(new HashSet<>(results)).hasSize(1);
    }

    private static Memory floats(int rank, int count) {
        Random random = new Random(rank);
        Memory memory = Memory.bytes(count * Float.BYTES);
        for (int i = 0; i < count; i++) {
            memory.bytes.putFloat(i * Float.BYTES, (float) Math.exp(random.nextGaussian()));
        }
        return memory;
    }

    private static List<Integer> bits(Memory memory, int from, int to) {
        return Arrays.stream(memory.ints(), from, to).boxed().toList();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 7, 8})
    void noRankLeavesABarrierBeforeAllHaveCome(int size) throws Exception {
        AtomicInteger arrivals = new AtomicInteger();
        Ranks.run(
                size,
                (rank, communicator) -> {
                    for (int round = 1; round <= 2 * size; round++) {
                        if (rank == round % size) {
                            Thread.sleep(5);
                        }
                        arrivals.incrementAndGet();
                        communicator.barrier();
                        assertThat(arrivals.get()).isGreaterThanOrEqualTo(round * size);
                    }
                    return null;
                });
    }

    /** All ranks must choose the same algorithm, whichever host they are on. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void allReduceAndAllGatherBetweenHosts(int size) throws Exception {
        Ranks.run(
                size,
                rank -> rank == size - 1 ? "127.0.0.2" : "127.0.0.1",
                (rank, communicator) -> {
                    for (int count : new int[] {1, 2000, 5000, 10_000, 20_000, 300_001}) {
                        Memory data = numbers(rank, count);
                        communicator.allReduce(
                                data.address, data.address, count, TYPE, ReduceOp.SUM);
                        assertThat(data.ints()).isEqualTo(sum(size, 0, count));
                        Memory all = Memory.bytes(count * size * Integer.BYTES);
                        Memory mine = numbers(rank, count);
                        communicator.allGather(mine.address, all.address, count, TYPE);
                        assertThat(all.ints()).isEqualTo(concat(size, r -> part(r, 0, count)));
                    }
                    return null;
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void rootedOperations(int size) throws Exception {
        Ranks.run(
                size,
                (rank, communicator) -> {
                    for (int count : COUNTS) {
                        for (int root = 0; root < size; root++) {
                            Memory data = numbers(rank, count);
                            communicator.broadcast(data.address, count, TYPE, root);
                            assertThat(data.ints()).isEqualTo(part(root, 0, count));

                            Memory in = numbers(rank, count);
                            Memory out = Memory.bytes(count * Integer.BYTES);
                            communicator.reduce(
                                    in.address,
                                    rank == root ? out.address : 0,
                                    count,
                                    TYPE,
                                    ReduceOp.SUM,
                                    root);
                            assertThat(in.ints()).isEqualTo(part(rank, 0, count));
                            if (rank == root) {
                                assertThat(out.ints()).isEqualTo(sum(size, 0, count));
                            }
                            communicator.reduce(
                                    in.address,
                                    rank == root ? in.address : 0,
                                    count,
                                    TYPE,
                                    ReduceOp.SUM,
                                    root);
                            assertThat(in.ints())
                                    .isEqualTo(
                                            rank == root
                                                    ? sum(size, 0, count)
                                                    : part(rank, 0, count));
                        }
                    }
                    return null;
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void gatherAndScatter(int size) throws Exception {
        Ranks.run(
                size,
                (rank, communicator) -> {
                    for (int count : COUNTS) {
                        int[] whole = concat(size, r -> part(r, 0, count));
                        for (int root = 0; root < size; root++) {
                            Memory in = numbers(rank, count);
                            Memory all = Memory.bytes(size * count * Integer.BYTES);
                            communicator.gather(
                                    in.address, rank == root ? all.address : 0, count, TYPE, root);
                            if (rank == root) {
                                assertThat(all.ints()).isEqualTo(whole);
                            }
                            Memory back = Memory.bytes(count * Integer.BYTES);
                            communicator.scatter(
                                    rank == root ? all.address : 0,
                                    back.address,
                                    count,
                                    TYPE,
                                    root);
                            assertThat(back.ints()).isEqualTo(part(rank, 0, count));
                        }
                    }
                    return null;
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void allGather(int size) throws Exception {
        Ranks.run(
                size,
                (rank, communicator) -> {
                    for (int count : COUNTS) {
                        Memory in = numbers(rank, count);
                        Memory out = Memory.bytes(count * size * Integer.BYTES);
                        communicator.allGather(in.address, out.address, count, TYPE);
                        assertThat(out.ints()).isEqualTo(concat(size, r -> part(r, 0, count)));

                        long[] counts = uneven(size, count);
                        Memory some = Memory.bytes(total(counts) * Integer.BYTES);
                        long place = some.address + offset(counts, rank) * (long) Integer.BYTES;
                        int[] mine = part(rank, 0, (int) counts[rank]);
                        some.bytes
                                .position(offset(counts, rank) * Integer.BYTES)
                                .asIntBuffer()
                                .put(mine);
                        communicator.allGatherV(place, some.address, counts, TYPE);
                        assertThat(some.ints())
                                .isEqualTo(concat(size, r -> part(r, 0, (int) counts[r])));
                    }
                    return null;
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void reduceScatter(int size) throws Exception {
        Ranks.run(
                size,
                (rank, communicator) -> {
                    for (int count : COUNTS) {
                        Memory in = numbers(rank, count * size);
                        Memory out = Memory.bytes(count * Integer.BYTES);
                        communicator.reduceScatter(
                                in.address, out.address, count, TYPE, ReduceOp.SUM);
                        assertThat(out.ints()).isEqualTo(sum(size, rank * count, count));
                        assertThat(in.ints()).isEqualTo(part(rank, 0, count * size));

                        long[] counts = uneven(size, count);
                        Memory whole = numbers(rank, total(counts));
                        Memory mine = Memory.bytes((int) counts[rank] * Integer.BYTES);
                        communicator.reduceScatterV(
                                whole.address, mine.address, counts, TYPE, ReduceOp.SUM);
                        assertThat(mine.ints())
                                .isEqualTo(sum(size, offset(counts, rank), (int) counts[rank]));
                    }
                    return null;
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void reduceScatterInSeveralSegments(int size) throws Exception {
        Ranks.run(
                size,
                (rank, communicator) -> {
                    long[] counts = IntStream.range(0, size).mapToLong(r -> 900_000 - r).toArray();
                    Memory in = numbers(rank, total(counts));
                    Memory out = Memory.bytes((int) counts[rank] * Integer.BYTES);
                    communicator.reduceScatterV(
                            in.address, out.address, counts, TYPE, ReduceOp.SUM);
                    assertThat(out.ints())
                            .isEqualTo(sum(size, offset(counts, rank), (int) counts[rank]));
                    return null;
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5})
    void allToAll(int size) throws Exception {
        Ranks.run(
                size,
                (rank, communicator) -> {
                    for (int count : COUNTS) {
                        Memory in = numbers(rank, count * size);
                        Memory out = Memory.bytes(count * size * Integer.BYTES);
                        communicator.allToAll(in.address, out.address, count, TYPE);
                        assertThat(out.ints())
                                .isEqualTo(concat(size, r -> part(r, rank * count, count)));

                        // rank i sends count + j - i elements, or none, to rank j
                        long[] sends = splits(size, count, rank, 1);
                        long[] receives = splits(size, count, rank, -1);
                        Memory from = numbers(rank, total(sends));
                        Memory to = Memory.bytes(total(receives) * Integer.BYTES);
                        communicator.allToAllV(from.address, to.address, sends, receives, TYPE);
                        assertThat(to.ints())
                                .isEqualTo(
                                        concat(
                                                size,
                                                r -> {
                                                    long[] theirs = splits(size, count, r, 1);
                                                    return part(
                                                            r,
                                                            offset(theirs, rank),
                                                            (int) theirs[rank]);
                                                }));
                    }
                    return null;
                });
    }

    private static long[] splits(int size, int count, int rank, int sign) {
        return IntStream.range(0, size)
                .mapToLong(peer -> Math.max(0, count + sign * (peer - rank)))
                .toArray();
    }

    @Test
    void manySmallOperationsInARow() throws Exception {
        List<Integer> results =
                Ranks.run(
                        2,
                        (rank, communicator) -> {
                            Memory x = numbers(0, 1);
                            for (int i = 0; i < 20_000; i++) {
                                x.bytes.putInt(0, i + rank);
                                communicator.allReduce(x.address, x.address, 1, TYPE, ReduceOp.MAX);
                                assertThat(x.bytes.getInt(0)).isEqualTo(i + 1);
                                communicator.barrier();
                            }
                            return x.bytes.getInt(0);
                        });
        assertThat(results).containsOnly(20_000);
    }
}

package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every operation on every type, on random bits and on the values where rounding and order bite.
 */
@Tag("all")
class ReduceKernelTest {

    private static final long SEED = 20261121;

    /** Vector widths, one off them, and more than one step of the ring. */
    private static final int[] COUNTS = {1, 8, 9, 31, 1037, 40_003};

    private static final List<ReduceOp> OPS =
            List.of(
                    ReduceOp.SUM,
                    ReduceOp.AVG,
                    ReduceOp.PRODUCT,
                    ReduceOp.MIN,
                    ReduceOp.MAX,
                    ReduceOp.BAND,
                    ReduceOp.BOR,
                    ReduceOp.BXOR,
                    ReduceOp.premulSum(0.3));

    /** What all results of a type come to, with one NaN for all; the same on every processor. */
    private static final Map<DataType, Long> CHECKSUMS =
            Map.ofEntries(
                    Map.entry(DataType.INT8, 2841664032L),
                    Map.entry(DataType.UINT8, 724276207L),
                    Map.entry(DataType.INT16, 2080135866L),
                    Map.entry(DataType.INT32, 1009835541L),
                    Map.entry(DataType.INT64, 3764733478L),
                    Map.entry(DataType.FLOAT16, 4219764788L),
                    Map.entry(DataType.BFLOAT16, 1352878564L),
                    Map.entry(DataType.FLOAT32, 283337699L),
                    Map.entry(DataType.FLOAT64, 245910073L),
                    Map.entry(DataType.BOOL, 531698184L));

    @ParameterizedTest
    @EnumSource
    void matchesTheReference(DataType type) throws Exception {
        CRC32 checksum = new CRC32();
        List<List<Memory>> results =
                Ranks.run(
                        2,
                        (rank, communicator) -> {
                            List<Memory> outputs = new ArrayList<>();
                            for (ReduceOp op : OPS) {
                                boolean expected = op.supports(type) && !type.isFloat8();
                                assertThat(op.supports(type) && communicator.reduces(op, type))
                                        .isEqualTo(expected);
                                for (int count : COUNTS) {
                                    if (expected) {
                                        Memory in = input(type, rank, count);
                                        Memory out = Memory.bytes(count * type.size() + 1);
                                        communicator.allReduce(
                                                in.address, out.address, count, type, op);
                                        assertThat(in.bytes)
                                                .isEqualTo(input(type, rank, count).bytes);
                                        outputs.add(out);
                                    }
                                }
                            }
                            return outputs;
                        });
        int next = 0;
        for (ReduceOp op : OPS) {
            if (!op.supports(type) || type.isFloat8()) {
                continue;
            }
            for (int count : COUNTS) {
                Memory left = input(type, 0, count);
                Memory right = input(type, 1, count);
                Memory got = results.get(0).get(next);
                assertThat(results.get(1).get(next).bytes)
                        .as("rank 1 has the bits of rank 0")
                        .isEqualTo(got.bytes);
                next++;
                for (int i = 0; i < count; i++) {
                    long a = ReduceReference.read(type, left.bytes, i);
                    long b = ReduceReference.read(type, right.bytes, i);
                    long wanted = ReduceReference.combine(type, op, a, b);
                    long found = ReduceReference.read(type, got.bytes, i);
                    add(checksum, ReduceReference.isNan(type, found) ? -1 : found);
                    boolean same =
                            wanted == found
                                    || (ReduceReference.isNan(type, wanted)
                                            && ReduceReference.isNan(type, found))
                                    || isZeroOfEitherSign(type, op, wanted, found);
                    assertThat(same)
                            .as(
                                    "%s %s [%d of %d]: %x and %x give %x, not %x",
                                    op, type, i, count, a, b, found, wanted)
                            .isTrue();
                }
                assertThat(got.bytes.get(count * type.size())).as("byte after the end").isZero();
            }
        }
        assertThat(checksum.getValue()).isEqualTo(CHECKSUMS.getOrDefault(type, 0L));
    }

    private static void add(CRC32 checksum, long bits) {
        checksum.update(ByteBuffer.allocate(Long.BYTES).putLong(bits).flip());
    }

    /** All values, with others that make each kind of rounding, subnormal result and overflow. */
    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16"})
    void everyValueOfSixteenBits(DataType type) throws Exception {
        int values = 1 << 16;
        List<ReduceOp> ops = List.of(ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.premulSum(0x1.8p-9));
        for (int other : new int[] {0x0000, 0x0001, 0x8003, 0x3801, 0xbc03, 0x3f7f, 0x7800}) {
            Memory[] in = {Memory.bytes(values * 2), Memory.bytes(values * 2)};
            for (int i = 0; i < values; i++) {
                ReduceReference.write(type, in[0].bytes, i, i);
                ReduceReference.write(type, in[1].bytes, i, other);
            }
            for (ReduceOp op : ops) {
                List<Memory> results =
                        Ranks.run(
                                2,
                                (rank, communicator) -> {
                                    Memory out = Memory.bytes(values * 2);
                                    communicator.allReduce(
                                            in[rank].address, out.address, values, type, op);
                                    return out;
                                });
                for (int i = 0; i < values; i++) {
                    long wanted = ReduceReference.combine(type, op, i, other);
                    long found = ReduceReference.read(type, results.get(0).bytes, i);
                    if (wanted != found
                            && !(ReduceReference.isNan(type, wanted)
                                    && ReduceReference.isNan(type, found))) {
                        throw new AssertionError(
                                "%s %s: %x and %x give %x, not %x"
                                        .formatted(op, type, i, other, found, wanted));
                    }
                }
            }
        }
    }

    /** Which zero is the smaller one is left open. */
    private static boolean isZeroOfEitherSign(DataType type, ReduceOp op, long a, long b) {
        return type.isFloatingPoint()
                && (op.kind() == ReduceOp.Kind.MIN || op.kind() == ReduceOp.Kind.MAX)
                && ReduceReference.decode(type, a) == 0
                && ReduceReference.decode(type, b) == 0;
    }

    private static Memory input(DataType type, int rank, int count) {
        Random random = new Random(SEED + rank + count * 31L);
        Memory memory = Memory.bytes(count * type.size());
        long[] specials = specials(type);
        for (int i = 0; i < count; i++) {
            long bits =
                    switch (random.nextInt(4)) {
                        case 0 -> specials[random.nextInt(specials.length)];
                        case 1 -> moderate(type, random);
                        default -> random.nextLong();
                    };
            ReduceReference.write(type, memory.bytes, i, type == DataType.BOOL ? bits & 1 : bits);
        }
        return memory;
    }

    /** Floating point values whose sums are neither one operand nor infinite. */
    private static long moderate(DataType type, Random random) {
        double value = random.nextGaussian();
        return switch (type) {
            case FLOAT64 -> Double.doubleToLongBits(value);
            case FLOAT32 -> Float.floatToIntBits((float) value);
            case BFLOAT16 -> Float.floatToIntBits((float) value) >>> 16;
            case FLOAT16 -> 0x3000 + random.nextInt(0x1800) | random.nextInt(2) << 15;
            default -> random.nextInt(100);
        };
    }

    /** Zeros, the smallest and largest of each kind, infinities and NaNs. */
    private static long[] specials(DataType type) {
        return switch (type) {
            case FLOAT16 ->
                    new long[] {
                        0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
                        0x3c00, 0x3c01
                    };
            case BFLOAT16 ->
                    new long[] {
                        0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0,
                        0x3f80, 0x3f81
                    };
            case FLOAT32 ->
                    new long[] {
                        0, 0x80000000L, 1, 0x7fffff, 0x7f7fffff, 0x7f800000, 0xff800000L, 0x7fc00000
                    };
            case FLOAT64 ->
                    new long[] {
                        0,
                        Long.MIN_VALUE,
                        1,
                        Double.doubleToLongBits(Double.MAX_VALUE),
                        Double.doubleToLongBits(Double.POSITIVE_INFINITY),
                        Double.doubleToLongBits(Double.NEGATIVE_INFINITY),
                        Double.doubleToLongBits(Double.NaN)
                    };
            default ->
                    new long[] {0, 1, -1, 0x7f, 0x80, 0x7fff, 0x8000, Long.MIN_VALUE >>> 32, -128};
        };
    }
}

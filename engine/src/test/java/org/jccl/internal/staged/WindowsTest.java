package org.jccl.internal.staged;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.Test;

/** How collectives are cut, and that no rank ends well with what another one goes on with. */
class WindowsTest {

    private static final long MIB = 1L << 20;

    private static Operation of(OperationKind kind, DataType type, long count) {
        Operation operation = new Operation();
        operation.clear();
        operation.kind = kind;
        operation.type = type;
        operation.count = count;
        return operation;
    }

    private static Windows windows(OperationKind kind, DataType type, long count, int size) {
        return Windows.of(of(kind, type, count), size);
    }

    @Test
    void whatIsSmallGoesAtOnce() {
        assertThat(windows(OperationKind.ALL_REDUCE, DataType.FLOAT32, 0, 2))
                .isEqualTo(new Windows(0, 1, false));
        assertThat(windows(OperationKind.ALL_REDUCE, DataType.FLOAT32, MIB - 1, 2))
                .isEqualTo(new Windows(MIB - 1, 1, false));
    }

    @Test
    void whatIsLargeGoesInEqualWindows() {
        assertThat(windows(OperationKind.BROADCAST, DataType.FLOAT32, MIB, 64))
                .isEqualTo(new Windows(MIB, 1, true));
        assertThat(windows(OperationKind.REDUCE, DataType.FLOAT64, 2 * MIB + 1, 2))
                .isEqualTo(new Windows(MIB / 2, 5, true));
    }

    @Test
    void partsShareAWindowUntilTheyBecomeSmall() {
        assertThat(windows(OperationKind.ALL_GATHER, DataType.UINT8, 2 * MIB, 4))
                .isEqualTo(new Windows(MIB, 2, true));
        assertThat(windows(OperationKind.ALL_TO_ALL, DataType.UINT8, MIB, 1000))
                .isEqualTo(new Windows(MIB / 16, 16, true));
    }

    @Test
    void theLargestPartSaysHowManyWindowsThereAre() {
        Operation operation = of(OperationKind.ALL_GATHER_V, DataType.UINT8, 0);
        operation.outputCounts = new long[] {1, 5 * MIB, 0, 2};
        assertThat(Windows.of(operation, 4)).isEqualTo(new Windows(MIB, 5, true));
        operation.kind = OperationKind.REDUCE_SCATTER_V;
        operation.inputCounts = operation.outputCounts;
        operation.outputCounts = null;
        assertThat(Windows.of(operation, 4)).isEqualTo(new Windows(MIB, 5, true));
    }

    /** A rank does not know the others' counts, so they could not cut alike. */
    @Test
    void anAllToAllOfDifferentPartsIsNotCut() {
        Operation operation = of(OperationKind.ALL_TO_ALL_V, DataType.UINT8, 0);
        operation.inputCounts = new long[] {1, 50 * MIB};
        operation.outputCounts = new long[] {1, 60 * MIB};
        assertThat(Windows.of(operation, 2)).isEqualTo(new Windows(60 * MIB, 1, false));
    }

    /**
     * The library compares what the ranks call. If the calls of one count began with all those of
     * another, ranks that disagree would not notice before their next operation.
     */
    @Test
    void theCallsOfOneCountAreNeverTheBeginningOfAnothers() {
        long window = MIB;
        List<Long> counts = new ArrayList<>();
        for (long base : new long[] {1, window, 2 * window, 3 * window, 5 * window}) {
            for (long more = -3; more <= 3; more++) {
                counts.add(Math.max(0, base + more));
            }
        }
        Map<List<Long>, Long> seen = new HashMap<>();
        for (long count : counts) {
            seen.put(calls(count), count);
        }
        seen.forEach(
                (calls, count) -> {
                    for (int length = 1; length < calls.size(); length++) {
                        assertThat(seen.get(calls.subList(0, length)))
                                .as("the calls of %d begin with those of", count)
                                .isNull();
                    }
                });
        assertThat(seen).hasSize((int) counts.stream().distinct().count());
    }

    /** Counts of the calls, and -1 for the barrier. */
    private static List<Long> calls(long count) {
        Windows windows = windows(OperationKind.ALL_REDUCE, DataType.FLOAT32, count, 2);
        List<Long> calls = new ArrayList<>();
        for (long number = 0; number < windows.number(); number++) {
            calls.add(Parts.within(count, number * windows.length(), windows.length()));
        }
        if (windows.cut()) {
            calls.add(-1L);
        }
        assertThat(calls.stream().filter(each -> each > 0).mapToLong(each -> each).sum())
                .isEqualTo(count);
        return calls;
    }
}

package org.jccl.internal.operation;

import static org.assertj.core.api.Assertions.assertThat;

import org.jccl.DataType;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which memory each kind of operation reads and writes. */
class MemoryUsesTest {

    private static final long INPUT = 1000;
    private static final long OUTPUT = 2000;
    private static final int RANK = 1;
    private static final int SIZE = 3;

    private static Operation operation(String kind, int root) {
        Operation operation = new Operation();
        operation.kind = OperationKind.valueOf(kind);
        operation.type = DataType.FLOAT32;
        operation.count = 2;
        operation.peer = root;
        operation.input = INPUT;
        operation.output = OUTPUT;
        operation.inputCounts = new long[] {1, 2, 3};
        operation.outputCounts = new long[] {4, 5, 6};
        return operation;
    }

    /** How many elements of the memory at a place collide, counted one by one. */
    private static int colliding(Operation operation, long place, boolean writes) {
        int found = 0;
        for (long at = place - 4; at < place + 400; at += 4) {
            if (operation.collides(at, at + 4, writes, RANK, SIZE)) {
                found++;
            }
        }
        return found;
    }

    @ParameterizedTest
    @CsvSource({
        "ALL_REDUCE, -1, 2, 2",
        "REDUCE, 1, 2, 2",
        "REDUCE, 0, 2, 0",
        "ALL_GATHER, -1, 2, 6",
        "ALL_GATHER_V, -1, 5, 15",
        "GATHER, 1, 2, 6",
        "GATHER, 0, 2, 0",
        "SCATTER, 1, 6, 2",
        "SCATTER, 0, 0, 2",
        "REDUCE_SCATTER, -1, 6, 2",
        "REDUCE_SCATTER_V, -1, 6, 2",
        "ALL_TO_ALL, -1, 6, 6",
        "ALL_TO_ALL_V, -1, 6, 15",
        "SEND, 0, 2, 0",
        "RECV, 0, 0, 2",
        "BARRIER, -1, 0, 0",
    })
    void whatIsReadMayBeReadAndWhatIsWrittenMayNotBeTouched(
            String kind, int root, int read, int written) {
        Operation operation = operation(kind, root);

        assertThat(colliding(operation, INPUT, false)).isZero();
        assertThat(colliding(operation, INPUT, true)).isEqualTo(read);
        assertThat(colliding(operation, OUTPUT, false)).isEqualTo(written);
        assertThat(colliding(operation, OUTPUT, true)).isEqualTo(written);
    }

    @Test
    void theRootOfABroadcastReadsAndTheOthersWrite() {
        assertThat(colliding(operation("BROADCAST", RANK), OUTPUT, false)).isZero();
        assertThat(colliding(operation("BROADCAST", RANK), OUTPUT, true)).isEqualTo(2);
        assertThat(colliding(operation("BROADCAST", 0), OUTPUT, false)).isEqualTo(2);
    }

    @Test
    void tensorsOfAListCountOneByOne() {
        Operation operation = operation("ALL_GATHER_V", -1);
        operation.outputParts = new long[] {5000, OUTPUT, 7000};

        assertThat(colliding(operation, OUTPUT, false)).isEqualTo(5);
        assertThat(colliding(operation, 7000, false)).isEqualTo(6);
        assertThat(colliding(operation, 5000, false)).isEqualTo(4);
    }
}

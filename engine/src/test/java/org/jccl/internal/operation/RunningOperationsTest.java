package org.jccl.internal.operation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.LongStream;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.ReduceOp;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.Test;

final class RunningOperationsTest {

    private static final FailureContext GROUP = FailureContext.ofGroup("g", 0);
    private static final long SECOND = 1_000_000_000;

    private final RunningOperations running = new RunningOperations();

    private Operation begin(OperationKind kind, long sequence, long startNanos) {
        Operation operation = running.borrow();
        operation.kind = kind;
        operation.type = DataType.FLOAT32;
        operation.count = 4;
        operation.op = kind == OperationKind.ALL_REDUCE ? ReduceOp.SUM : null;
        operation.peer = kind.isCollective() ? -1 : 1;
        operation.sequence = sequence;
        running.begin(operation, startNanos);
        return operation;
    }

    private RunningOperations.Overdue overdueAfter(long seconds) {
        return running.overdue(seconds * SECOND, 10 * SECOND, false, GROUP);
    }

    private List<Long> stuck(RunningOperations.Overdue overdue) {
        return overdue.stuck().stream().map(each -> each.context().sequence()).toList();
    }

    @Test
    void ofThousandsOfCollectivesTheOldestAreSuspect() {
        // Ended operations leave gaps that later ones fill, so that the list is in no order.
        List<Operation> early =
                LongStream.range(0, 1000)
                        .mapToObj(each -> begin(OperationKind.ALL_REDUCE, each, 1))
                        .toList();
        early.subList(0, 500).forEach(each -> running.end(each, null));
        assertThat(stuck(overdueAfter(2)))
                .containsExactlyElementsOf(LongStream.range(500, 516).boxed().toList());
    }

    @Test
    void everyMessageIsSuspect() {
        for (int i = 0; i < 100; i++) {
            begin(OperationKind.SEND, -1, 1);
        }
        assertThat(overdueAfter(2).stuck()).hasSize(100);
    }

    @Test
    void theOldestThatIsOverItsDeadlineIsNamed() {
        for (long i = 0; i < 5; i++) {
            begin(OperationKind.ALL_REDUCE, i, 1 + (i == 3 ? 0 : SECOND));
        }
        assertThat(overdueAfter(13).expired().sequence()).isEqualTo(3);
        assertThat(overdueAfter(10).expired()).isNull();
    }

    @Test
    void anOperationWithATimeoutOfItsOwnHasThat() {
        begin(OperationKind.BROADCAST, 0, 1).timeoutNanos = 100 * SECOND;
        assertThat(overdueAfter(90).expired()).isNull();
        assertThat(overdueAfter(102).expired().sequence()).isZero();
        begin(OperationKind.ALL_REDUCE, 1, 1).timeoutNanos = SECOND;
        assertThat(overdueAfter(3).expired().sequence()).isEqualTo(1);
        assertThat(overdueAfter(3).timeoutNanos()).isEqualTo(SECOND);
    }

    @Test
    void aGroupThatIsClosedWaitsNoLongerThanItsTimeout() {
        begin(OperationKind.BROADCAST, 0, 1).timeoutNanos = 100 * SECOND;
        assertThat(running.overdue(12 * SECOND, 10 * SECOND, true, GROUP).expired()).isNotNull();
    }
}

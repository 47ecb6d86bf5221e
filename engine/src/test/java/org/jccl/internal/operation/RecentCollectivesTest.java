package org.jccl.internal.operation;

import static org.assertj.core.api.Assertions.assertThat;

import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.Test;

final class RecentCollectivesTest {

    private final RecentCollectives recent = new RecentCollectives();
    private final Operation reused = new Operation();

    private void sum(long count) {
        reused.clear();
        reused.kind = OperationKind.ALL_REDUCE;
        reused.type = DataType.FLOAT32;
        reused.op = ReduceOp.SUM;
        reused.count = count;
        recent.add(reused);
    }

    @Test
    void remembersWhatAnObjectWasWhenItWasIssued() {
        sum(1);
        assertThat(reused.sequence).isZero();
        reused.clear();
        reused.kind = OperationKind.ALL_GATHER_V;
        reused.type = DataType.INT32;
        reused.outputCounts = new long[] {1, 2};
        recent.add(reused);
        reused.clear();
        reused.kind = OperationKind.BARRIER;
        recent.add(reused);
        assertThat(reused.sequence).isEqualTo(2);
        assertThat(recent.before(2))
                .containsExactly("allGather(int32 x [1, 2])", "allReduce(float32 x 1, SUM)");
        assertThat(recent.before(1)).containsExactly("allReduce(float32 x 1, SUM)");
        assertThat(recent.before(0)).isEmpty();
    }

    @Test
    void forgetsTheOldest() {
        int more = 5;
        for (int i = 0; i < RecentCollectives.KEPT + more; i++) {
            sum(i);
        }
        assertThat(recent.before(RecentCollectives.KEPT + more))
                .hasSize(RecentCollectives.KEPT)
                .endsWith("allReduce(float32 x " + more + ", SUM)");
        assertThat(recent.before(more + 1)).containsExactly("allReduce(float32 x 5, SUM)");
        assertThat(recent.before(more)).isEmpty();
    }
}

package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.conformance.inmemory.InMemoryProvider;
import org.jccl.internal.memory.Reaper;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Whose the tensors of a batch are, and when. */
class BatchTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));

    private final ByteBuffer memory = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder());
    private final AtomicInteger freed = new AtomicInteger();
    private final ProcessGroup group =
            TestGroups.world(new InMemoryProvider(), HashStore.create(TIMEOUT), 0, 1, TIMEOUT);

    @AfterEach
    void leave() {
        group.close();
    }

    private Tensor tensor() {
        long address = Tensor.of(memory, DataType.FLOAT32).address();
        return Tensor.adopt(address, 2, DataType.FLOAT32, Device.CPU, freed::incrementAndGet);
    }

    private void assertFreed(int tensors) {
        assertThat(Reaper.of(Device.CPU).await(TIMEOUT)).isTrue();
        assertThat(freed).hasValue(tensors);
    }

    @Test
    void aBatchThatIsDroppedHoldsNothing() {
        Tensor tensor = tensor();
        group.batch().allReduce(tensor, ReduceOp.SUM);
        tensor.close();
        assertFreed(1);
    }

    @Test
    void aTensorThatWasClosedMeanwhileIsRefused() {
        Tensor closed = tensor();
        Tensor open = tensor();
        Batch batch = group.batch().allReduce(open, ReduceOp.SUM).broadcast(closed, 0);
        closed.close();
        assertThatThrownBy(batch::issue)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("broadcast")
                .hasMessageContaining("closed");
        open.close();
        assertFreed(2);
    }

    @Test
    void anIssuedBatchLetsGoWhenItsWorksAreDone() {
        Tensor tensor = tensor();
        group.batch().allReduce(tensor, ReduceOp.SUM).issue().forEach(Work::await);
        tensor.close();
        assertFreed(1);
    }

    @Test
    void aClosedGroupLetsGo() {
        Tensor tensor = tensor();
        Batch batch = group.batch().allReduce(tensor, ReduceOp.SUM).broadcast(tensor, 0);
        group.close();
        assertThatThrownBy(batch::issue).isInstanceOf(UsageException.class);
        tensor.close();
        assertFreed(1);
    }
}

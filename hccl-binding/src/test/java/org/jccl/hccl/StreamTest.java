package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.junit.jupiter.api.Test;

/** Streams of callers. */
final class StreamTest {

    /** ACL waits for what is on a stream that it destroys. */
    @Test
    @SuppressWarnings("try") // The scope is there to be closed.
    void streamThatIsClosedBehindACallThatIsStuckHoldsNobodyLongerThanItsDeadline() {
        CountDownLatch failed = new CountDownLatch(1);
        World.run(
                2,
                Duration.ofSeconds(2),
                HcclOptions.defaults(),
                (group, device) -> {
                    if (group.rank() == 1) {
                        failed.await();
                        return;
                    }
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                        try (Stream stream = Stream.create(device, false);
                                Stream.Scope scope = stream.use()) {
                            assertThat(scope).isNotNull();
                            group.sync().allReduce(tensor, ReduceOp.SUM);
                        }
                        assertThatThrownBy(() -> group.sync().allReduce(tensor, ReduceOp.SUM))
                                .hasMessageContaining("not complete after 2 s");
                    } finally {
                        failed.countDown();
                    }
                });
    }
}

package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.junit.jupiter.api.Test;

/** Streams of callers. */
final class StreamTest {

    /** Each call needs a device on ACL, which a thread has not before it chose one. */
    @Test
    void threadThatNeverChoseADeviceMayAskForWhatAnotherOneIssued() {
        World.run(
                2,
                (group, device) -> {
                    Stream stream = Stream.create(device, false);
                    Event event = Event.create(device, false);
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                        Work asked = group.allReduce(tensor, ReduceOp.SUM);
                        event.record(stream);
                        inAnotherThread(asked::synchronize);
                        inAnotherThread(() -> assertThat(asked.isCompleted()).isTrue());
                        inAnotherThread(event::synchronize);
                        inAnotherThread(() -> assertThat(event.query()).isTrue());
                        inAnotherThread(() -> assertThat(stream.isCapturing()).isFalse());
                        inAnotherThread(stream::synchronize);
                        inAnotherThread(event::close);
                        inAnotherThread(stream::close);
                        group.allReduce(tensor, ReduceOp.SUM).synchronize();
                    }
                });
    }

    private static void inAnotherThread(Runnable call) {
        CompletableFuture.runAsync(call, task -> new Thread(task).start()).join();
    }

    /** ACL waits for what is on a stream that it destroys. */
    @Test
    @SuppressWarnings("try") // The scope is there to be closed.
    void streamThatIsClosedBehindACallThatIsStuckHoldsNobodyLongerThanItsDeadline() {
        CountDownLatch failed = new CountDownLatch(1);
        World.run(
                2,
                expires(Duration.ofSeconds(2)),
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

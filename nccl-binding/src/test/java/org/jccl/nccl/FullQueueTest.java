package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.GroupAbortedException;
import org.jccl.OperationTimeoutException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.conformance.Ranks;
import org.jccl.spi.Durations;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A stream takes so many commands, and who enqueues one more waits for the device: the watchdog
 * must not, nor for a thread that does.
 */
@Tag("all")
final class FullQueueTest {

    /**
     * More than twice of what a stream of the mock queues, since its worker may take all of it
     * once.
     */
    private static final int MANY = 2500;

    /** Less than that. */
    private static final int NEARLY = 1000;

    private static final Duration SHORT = Ranks.onThisHost(2);

    private interface Body {
        void run(ProcessGroup group, Stream stream, Tensor tensor) throws Exception;
    }

    @SuppressWarnings("try") // The scope is there to be closed.
    private static void withoutThePeer(Body body) {
        CountDownLatch done = new CountDownLatch(1);
        World.run(
                2,
                SHORT,
                NcclOptions.defaults(),
                (group, device) -> {
                    if (group.rank() == 1) {
                        done.await();
                        return;
                    }
                    try (Stream stream = Stream.create(device, false);
                            Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4);
                            Stream.Scope scope = stream.use()) {
                        body.run(group, stream, tensor);
                    } finally {
                        done.countDown();
                    }
                });
    }

    @Test
    void synchronousCallsThatAPeerNeverJoinsAreAborted() {
        withoutThePeer(
                (group, stream, tensor) ->
                        assertThatThrownBy(
                                        () -> {
                                            for (int i = 0; i < MANY; i++) {
                                                group.sync().allReduce(tensor, ReduceOp.SUM);
                                            }
                                        })
                                .hasMessageContaining(
                                        "not complete after " + Durations.text(SHORT)));
    }

    /**
     * Not every operation ends with its communicator, so no wait is left to the vendor's library.
     */
    @Test
    void waitForAStreamOrAnEventTakesNoLongerThanItMay() {
        CountDownLatch done = new CountDownLatch(1);
        World.run(
                2,
                (group, device) -> {
                    if (group.rank() == 1) {
                        done.await();
                        return;
                    }
                    try (Stream stream = Stream.create(device, false);
                            Stream.Scope scope = stream.use();
                            Event event = Event.create(device, false);
                            Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 4)) {
                        assertThat(scope).isNotNull();
                        group.sync().allReduce(tensor, ReduceOp.SUM);
                        event.record(stream);
                        assertThat(BareEngine.CUDA.awaitStream(stream.handle(), 1)).isFalse();
                        assertThat(BareEngine.CUDA.awaitEvent(event.handle(), 1)).isFalse();
                        group.abort();
                        assertThatThrownBy(stream::synchronize)
                                .isInstanceOf(GroupAbortedException.class);
                        assertThat(BareEngine.CUDA.awaitStream(stream.handle(), 60_000)).isTrue();
                        assertThat(BareEngine.CUDA.awaitEvent(event.handle(), 60_000)).isTrue();
                    } finally {
                        done.countDown();
                    }
                });
    }

    @Test
    void waitForAWorkThatIsStuckEnds() {
        withoutThePeer(
                (group, stream, tensor) -> {
                    Work stuck = group.allReduce(tensor, ReduceOp.SUM);
                    stuck.await();
                    assertThatThrownBy(
                                    () -> {
                                        for (int i = 0; i < MANY; i++) {
                                            stuck.await();
                                        }
                                        stream.synchronize();
                                    })
                            .isInstanceOf(OperationTimeoutException.class);
                });
    }

    @Test
    void eventBehindASynchronousCallThatIsStuckEnds() {
        withoutThePeer(
                (group, stream, tensor) -> {
                    try (Event event = Event.create(stream.device(), true)) {
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        for (int i = 0; i < NEARLY; i++) {
                            event.record(stream);
                        }
                        // The watchdog sees it when this thread is blocked already.
                        group.sync().allReduce(tensor, ReduceOp.SUM);
                        for (int i = NEARLY; i < MANY; i++) {
                            event.record(stream);
                        }
                        assertThatThrownBy(event::synchronize)
                                .isInstanceOf(OperationTimeoutException.class);
                    }
                });
    }
}

package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jccl.DataType;
import org.jccl.Event;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.nccl.Gpu.Gate;
import org.junit.jupiter.api.Test;

/** Streams and events that are closed while they are in use. */
@SuppressWarnings("try") // Scopes are there to be closed.
final class StreamClosingTest {

    /** A thread inside a call, and what the call threw. */
    private static final class Caller {

        private final AtomicReference<Throwable> thrown = new AtomicReference<>();
        private final Thread thread;

        Caller(Runnable call) {
            this.thread = new Thread(call, "caller");
            thread.setUncaughtExceptionHandler((any, e) -> thrown.set(e));
            thread.start();
        }

        void awaitInside(String method) throws InterruptedException {
            while (thread.isAlive() && !isInside(method)) {
                Thread.sleep(1);
            }
        }

        private boolean isInside(String method) {
            return Arrays.stream(thread.getStackTrace())
                    .anyMatch(frame -> frame.getMethodName().equals(method));
        }

        void awaitReturn() throws InterruptedException {
            thread.join(TimeUnit.SECONDS.toMillis(30));
            assertThat(thread.isAlive()).isFalse();
            assertThat(thrown.get()).isNull();
        }
    }

    @Test
    void streamThatIsClosedWhileAThreadWaitsForItLivesUntilThen() throws Exception {
        Stream stream = Stream.create(World.GPU, false);
        try (Gate gate = Gate.on(stream)) {
            Caller waiting = new Caller(stream::synchronize);
            waiting.awaitInside("awaitStream");
            stream.close();
            assertThatThrownBy(stream::query)
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("stream on cuda:0 is closed");
            gate.open();
            waiting.awaitReturn();
        }
    }

    @Test
    void eventThatIsClosedWhileAThreadWaitsForItLivesUntilThen() throws Exception {
        Event event = Event.create(World.GPU, false);
        try (Stream stream = Stream.create(World.GPU, false);
                Gate gate = Gate.on(stream)) {
            event.record(stream);
            Caller waiting = new Caller(event::synchronize);
            waiting.awaitInside("awaitEvent");
            event.close();
            assertThatThrownBy(event::query)
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("event on cuda:0 is closed");
            gate.open();
            waiting.awaitReturn();
        }
    }

    @Test
    void noStreamWaitsForAnEventThatIsClosed() {
        try (Stream stream = Stream.create(World.GPU, false)) {
            Event event = Event.create(World.GPU, false);
            event.record(stream);
            event.close();
            assertThatThrownBy(() -> stream.waitEvent(event))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("event on cuda:0 is closed");
        }
    }

    @Test
    void streamThatIsCurrentLivesUntilItsScopeIsClosed() {
        try (ProcessGroup group = World.alone();
                Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 2)) {
            Stream stream = Stream.create(World.GPU, false);
            Stream.Scope scope = stream.use();
            stream.close();
            tensor.copyFrom(new float[] {1, 2});
            assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("stream on cuda:0 is closed");
            assertThatThrownBy(() -> group.sync().allReduce(tensor, ReduceOp.SUM))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("stream on cuda:0 is closed");
            assertThat(tensor.copyTo(new float[2])).containsExactly(1, 2);
            scope.close();
            scope.close();
            assertThat(Stream.current(World.GPU).handle()).isZero();
            group.sync().allReduce(tensor, ReduceOp.SUM);
            assertThat(tensor.copyTo(new float[2])).containsExactly(1, 2);
        }
    }

    @Test
    void streamThatAnotherThreadClosesLivesWhileItIsCurrent() throws Exception {
        Stream stream = Stream.create(World.GPU, false);
        CountDownLatch current = new CountDownLatch(1);
        CountDownLatch closed = new CountDownLatch(1);
        Caller user =
                new Caller(
                        () -> {
                            try (Stream.Scope scope = stream.use();
                                    Tensor tensor =
                                            Tensor.allocate(World.GPU, DataType.FLOAT32, 1)) {
                                current.countDown();
                                assertThat(closed.await(30, TimeUnit.SECONDS)).isTrue();
                                tensor.copyFrom(new float[] {3});
                                assertThat(tensor.copyTo(new float[1])).containsExactly(3);
                            } catch (InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                        });
        assertThat(current.await(30, TimeUnit.SECONDS)).isTrue();
        stream.close();
        closed.countDown();
        user.awaitReturn();
    }
}

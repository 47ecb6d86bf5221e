package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.internal.device.StreamEngine;
import org.jccl.internal.memory.Memory;
import org.jccl.internal.operation.Operation;
import org.jccl.nccl.Gpu.Gate;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Works that nobody asks whether they have ended, in an engine that no watchdog helps. */
final class UnawaitedWorksTest {

    private final AtomicInteger eventsMade = new AtomicInteger();
    private final AtomicInteger eventsAsked = new AtomicInteger();
    private final DeviceRuntime runtime =
            BareEngine.cuda(
                    (call, next) -> {
                        switch (call) {
                            case "createEvent" -> eventsMade.incrementAndGet();
                            case "queryEvent" -> eventsAsked.incrementAndGet();
                            default -> {}
                        }
                        return next.call();
                    });
    private final StreamEngine engine = BareEngine.of(runtime);
    private final Tensor tensor = Tensor.allocate(World.GPU, DataType.FLOAT32, 4);

    @AfterEach
    void close() {
        engine.close(enough(Duration.ofSeconds(5)));
        tensor.close();
    }

    private Work submit() {
        return submit(engine.newOperation());
    }

    private Work submit(Operation operation) {
        operation.kind = OperationKind.ALL_REDUCE;
        operation.input = tensor.address();
        operation.output = tensor.address();
        operation.count = tensor.count();
        operation.type = tensor.dataType();
        operation.op = ReduceOp.SUM;
        return engine.submit(operation);
    }

    @Test
    void giveTheirEventsBackToLaterOnes() {
        int rounds = 50;
        int works = 100;
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < works; i++) {
                submit();
            }
            submit().await();
            Stream.current(World.GPU).synchronize();
        }
        assertThat(eventsMade.get()).isLessThan(3 * works);
        assertThat(eventsAsked.get()).isLessThan(rounds * works / 2);
    }

    @Test
    void areCompleteWhenTheOnesAfterThemAre() {
        List<Work> early = new ArrayList<>();
        try (Stream caller = Stream.create(World.GPU, false);
                Gate gate = Gate.on(caller);
                Stream.Scope scope = caller.use()) {
            assertThat(scope).isNotNull();
            for (int i = 0; i < 200; i++) {
                early.add(submit());
            }
            assertThat(early).noneMatch(Work::isCompleted);
            gate.open();
            submit().synchronize();
            assertThat(early).allMatch(Work::isCompleted);
        }
    }

    @Test
    void completeTheirFutures() throws Exception {
        List<Work> works = new ArrayList<>();
        try (Stream caller = Stream.create(World.GPU, false);
                Gate gate = Gate.on(caller);
                Stream.Scope scope = caller.use()) {
            assertThat(scope).isNotNull();
            works.add(submit());
            var early = works.get(0).toFuture();
            works.add(submit());
            var late = works.get(1).toFuture();
            assertThat(early).isNotDone();
            gate.open();
            early.get(20, TimeUnit.SECONDS);
            late.get(20, TimeUnit.SECONDS);
        }
        // The thread has ended meanwhile, or not: another is there for what comes later.
        submit().toFuture().get(20, TimeUnit.SECONDS);
    }

    @Test
    void keepTheirMemoryWhenALaterOneFailsFirst() throws Exception {
        AtomicBoolean freed = new AtomicBoolean();
        Memory memory = Memory.owned(() -> freed.set(true), "memory of a test");
        try (Stream caller = Stream.create(World.GPU, false);
                Gate gate = Gate.on(caller);
                Stream.Scope scope = caller.use()) {
            assertThat(scope).isNotNull();
            Operation early = engine.newOperation();
            assertThat(early.hold(memory)).isTrue();
            Work held = submit(early);
            Work late = submit();
            memory.close();
            engine.fail(new GroupAbortedException(FailureContext.NONE, "lost"));
            assertThat(late.isCompleted()).isTrue();
            // Its thread looks for works that have ended, again and again.
            int before = eventsAsked.get();
            held.toFuture();
            while (eventsAsked.get() < before + 3 && !freed.get()) {
                Thread.onSpinWait();
            }
            assertThat(freed).isFalse();
            gate.open();
            engine.close(enough(Duration.ofSeconds(5)));
            assertThat(held.exception()).isPresent();
            assertThat(freed).isTrue();
        }
    }
}

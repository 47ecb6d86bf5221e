package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.NativeException;
import org.jccl.ReduceOp;
import org.jccl.Work;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.memory.HostMemory;
import org.jccl.internal.memory.Memory;
import org.jccl.internal.memory.ScratchMemory;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A host engine whose tensors are on a device: whom it waits for, and who makes it current. */
class TensorLocationTest {

    private final ScriptedCommunicator library = new ScriptedCommunicator();
    private final Set<Thread> entered = ConcurrentHashMap.newKeySet();
    private List<String> callsAtArrival;
    private List<String> copiesAwaited;
    private Thread waited;
    private NativeException streamFailure;
    private NativeException deviceFailure;

    private final TensorLocation location =
            new TensorLocation() {
                @Override
                public void orderAfterCaller(Operation operation) {
                    callsAtArrival = library.calls();
                    waited = Thread.currentThread();
                    if (streamFailure != null) {
                        throw streamFailure;
                    }
                }

                @Override
                public void enter() {
                    entered.add(Thread.currentThread());
                    if (deviceFailure != null) {
                        throw deviceFailure;
                    }
                }

                @Override
                public Staging staging(HostCommunicator communicator, GroupFailure failure) {
                    return new PartsStaging(communicator, scratch());
                }

                private ScratchMemory scratch() {
                    ScratchMemory host = HostMemory.get().scratch();
                    return new ScratchMemory() {
                        @Override
                        public long allocate(long bytes) {
                            return host.allocate(bytes);
                        }

                        @Override
                        public void free(long address) {
                            host.free(address);
                        }

                        @Override
                        public void copy(long from, long to, long bytes) {
                            host.copy(from, to, bytes);
                        }

                        @Override
                        public void finishCopies() {
                            copiesAwaited = library.calls();
                        }
                    };
                }
            };

    private final HostEngine engine = engine(library);

    private HostEngine engine(ScriptedCommunicator communicator) {
        return new HostEngine(
                communicator.communicator(),
                FailureContext.ofGroup("g", 0),
                enough(Duration.ofSeconds(60)),
                new DesyncDetector(Optional.empty(), 0, 2),
                location);
    }

    @AfterEach
    void abortWhatIsLeft() {
        engine.fail(new GroupAbortedException(FailureContext.NONE, "test is over"));
    }

    private static <T extends Operation> T sum(T operation) {
        operation.kind = OperationKind.ALL_REDUCE;
        operation.type = DataType.FLOAT32;
        operation.count = 4;
        operation.op = ReduceOp.SUM;
        return operation;
    }

    private static NativeException broken() {
        return new NativeException(FailureContext.NONE, "device", 700, "the device is broken");
    }

    @Test
    void theCallerWaitsForItsStreamBeforeTheLibraryIsCalled() throws Exception {
        engine.submit(sum(engine.newOperation())).toFuture().get(20, TimeUnit.SECONDS);
        assertThat(callsAtArrival).isEmpty();
        assertThat(waited).isSameAs(Thread.currentThread());
        engine.run(sum(engine.borrow()));
        assertThat(callsAtArrival).hasSize(1);
        assertThat(library.calls()).hasSize(2);
    }

    @Test
    void whoeverCallsTheLibraryMakesTheDeviceCurrent() throws Exception {
        engine.submit(sum(engine.newOperation())).toFuture().get(20, TimeUnit.SECONDS);
        assertThat(entered).contains(library.thread(0)).doesNotContain(Thread.currentThread());
        HostWork message = sum((HostWork) engine.newOperation());
        message.kind = OperationKind.SEND;
        Work work = engine.submit(message);
        entered.clear();
        library.complete(1);
        work.await();
        assertThat(entered).contains(Thread.currentThread());
    }

    @Test
    void partsThatLieApartAreCopiedOnTheDevice() throws Exception {
        HostMemory.Allocation parts = HostMemory.get().allocate(64);
        HostWork work = sum((HostWork) engine.newOperation());
        work.kind = OperationKind.ALL_GATHER;
        work.outputParts = new long[] {parts.address(), parts.address() + 32};
        engine.submit(work).toFuture().get(20, TimeUnit.SECONDS);
        assertThat(copiesAwaited).containsExactly("allGather");
        parts.release().run();
    }

    @Test
    void aStreamThatFailedLeavesTheGroupAsItWas() {
        streamFailure = broken();
        AtomicBoolean freed = new AtomicBoolean();
        Memory memory = Memory.owned(() -> freed.set(true), "test");
        HostWork work = sum((HostWork) engine.newOperation());
        work.hold(memory);
        assertThatThrownBy(() -> engine.submit(work))
                .isInstanceOf(NativeException.class)
                .hasMessageContaining("group 'g', rank 0")
                .hasMessageContaining("allReduce(float32 x 4");
        assertThatThrownBy(() -> engine.run(sum(engine.borrow())))
                .isInstanceOf(NativeException.class);
        memory.close();
        assertThat(freed).isTrue();
        assertThat(library.calls()).isEmpty();
        streamFailure = null;
        engine.submit(sum(engine.newOperation())).await();
        assertThat(library.calls()).containsExactly("allReduce");
    }

    @Test
    void aDeviceThatFailedFailsTheGroup() {
        deviceFailure = broken();
        engine.watch(System.nanoTime());
        deviceFailure = null;
        assertThatThrownBy(() -> engine.submit(sum(engine.newOperation())))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("the device is broken");
    }
}

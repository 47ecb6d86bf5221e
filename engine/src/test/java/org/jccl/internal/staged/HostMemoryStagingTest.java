package org.jccl.internal.staged;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.NativeException;
import org.jccl.ReduceOp;
import org.jccl.Work;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.host.HostEngine;
import org.jccl.internal.host.ScriptedCommunicator;
import org.jccl.internal.host.Staging;
import org.jccl.internal.host.TensorLocation;
import org.jccl.internal.memory.Memory;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.Capabilities;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.Test;

/**
 * In which order copies and calls come, and what becomes of memory that something may still use.
 */
class HostMemoryStagingTest {

    private static final FailureContext GROUP = FailureContext.ofGroup("g", 0);

    /** What the device and the library were told, in this order. */
    private final List<String> told = new ArrayList<>();

    /** Whether copies end. */
    private volatile boolean copies = true;

    /** How often the device was asked whether one has ended. */
    private final AtomicInteger questions = new AtomicInteger();

    /** How many pieces of host memory the device has. */
    private final AtomicInteger pieces = new AtomicInteger(100);

    private RuntimeException copyFailure;
    private RuntimeException refusal;

    private final DeviceRuntime runtime =
            (DeviceRuntime)
                    Proxy.newProxyInstance(
                            DeviceRuntime.class.getClassLoader(),
                            new Class<?>[] {DeviceRuntime.class},
                            (proxy, method, arguments) ->
                                    switch (method.getName()) {
                                        case "createStream", "createEvent" -> 7L;
                                        case "allocateHost" -> {
                                            if (pieces.getAndDecrement() <= 0) {
                                                throw new OutOfMemoryError("no host memory");
                                            }
                                            yield 0L;
                                        }
                                        case "queryEvent" -> {
                                            questions.incrementAndGet();
                                            yield copies;
                                        }
                                        case "synchronizeEvent" -> {
                                            if (copyFailure != null) {
                                                throw copyFailure;
                                            }
                                            yield null;
                                        }
                                        case "deviceCount" -> 1;
                                        case "copy" -> {
                                            told.add(
                                                    arguments[3]
                                                                    == DeviceRuntime.Copy
                                                                            .DEVICE_TO_HOST
                                                            ? "down"
                                                            : "up");
                                            yield null;
                                        }
                                        default -> null;
                                    });

    private final HostCommunicator library =
            (HostCommunicator)
                    Proxy.newProxyInstance(
                            HostCommunicator.class.getClassLoader(),
                            new Class<?>[] {HostCommunicator.class},
                            (proxy, method, arguments) ->
                                    switch (method.getName()) {
                                        case "capabilities" -> Capabilities.ALL;
                                        case "abandonsOperations" -> false;
                                        case "allReduce", "barrier" -> {
                                            told.add(method.getName());
                                            if (refusal != null) {
                                                throw refusal;
                                            }
                                            yield HostCommunicator.COMPLETE;
                                        }
                                        default -> null;
                                    });

    private final HostEngine engine =
            new HostEngine(
                    new ScriptedCommunicator().communicator(),
                    GROUP,
                    enough(Duration.ofSeconds(60)),
                    new DesyncDetector(Optional.empty(), 0, 2),
                    TensorLocation.HOST);

    private final HostMemoryStaging staging =
            new HostMemoryStaging(
                    new StagedLocation(new Device("staged", 0), runtime, GROUP, 2),
                    library,
                    engine.failure,
                    TimeUnit.MILLISECONDS.toNanos(50));

    private static Operation sum(long count, Memory memory) {
        Operation operation = new Operation();
        operation.clear();
        operation.kind = OperationKind.ALL_REDUCE;
        operation.type = DataType.UINT8;
        operation.op = ReduceOp.SUM;
        operation.count = count;
        operation.input = 1L << 40;
        operation.output = 1L << 40;
        assertThat(operation.hold(memory)).isTrue();
        return operation;
    }

    @Test
    void everyTensorIsOneCallOfTheLibrary() {
        staging.run(sum(100L << 20, Memory.borrowed(null)));
        assertThat(told).containsExactly("down", "allReduce", "up");
    }

    @Test
    void whatFailedGoesNowhere() {
        refusal = new NativeException(FailureContext.NONE, "library", 5, "no");
        assertThatThrownBy(() -> staging.run(sum(3 << 20, Memory.borrowed(null))))
                .isSameAs(refusal);
        assertThat(told).containsExactly("down", "allReduce");
        refusal = null;
        staging.run(sum(1, Memory.borrowed(null)));
    }

    @Test
    void memoryForTheInputIsKeptIfThereIsNoneForTheOutput() {
        pieces.set(1);
        Operation gather = sum(3 << 20, Memory.borrowed(null));
        gather.kind = OperationKind.ALL_GATHER;
        assertThatThrownBy(() -> staging.run(gather)).isInstanceOf(OutOfMemoryError.class);
        staging.run(sum(3 << 20, Memory.borrowed(null)));
        assertThat(told).containsExactly("down", "allReduce", "up");
    }

    /** A device that is asked only says that the copy is over. */
    @Test
    void aCopyThatFailedIsNotSent() {
        copyFailure = new NativeException(FailureContext.NONE, "device", 7, "copy failed");
        assertThatThrownBy(() -> staging.run(sum(10, Memory.borrowed(null)))).isSameAs(copyFailure);
        assertThat(told).containsExactly("down");
    }

    /** An engine of its own, whose messages go through the device and a library. */
    private HostEngine engineOver(ScriptedCommunicator scripted) {
        TensorLocation location =
                new TensorLocation() {
                    @Override
                    public void orderAfterCaller(Operation operation) {}

                    @Override
                    public void enter() {}

                    @Override
                    public Staging staging(HostCommunicator communicator, GroupFailure failure) {
                        return new HostMemoryStaging(
                                new StagedLocation(new Device("staged", 0), runtime, GROUP, 2),
                                communicator,
                                failure,
                                TimeUnit.HOURS.toNanos(1));
                    }
                };
        return new HostEngine(
                scripted.communicator(),
                GROUP,
                enough(Duration.ofSeconds(60)),
                new DesyncDetector(Optional.empty(), 0, 2),
                location);
    }

    private static Work receive(HostEngine own) {
        Operation operation = own.newOperation();
        operation.kind = OperationKind.RECV;
        operation.type = DataType.UINT8;
        operation.count = 10;
        operation.peer = 1;
        operation.output = 1L << 40;
        return own.submit(operation);
    }

    /** The thread has the deadlines of all groups. */
    @Test
    void aTickOfTheWatchdogDoesNotWaitForADeviceThatIsStuck() {
        ScriptedCommunicator scripted = new ScriptedCommunicator();
        HostEngine own = engineOver(scripted);
        List<Work> works = List.of(receive(own), receive(own), receive(own));
        copies = false;
        for (int request = 1; request <= works.size(); request++) {
            scripted.complete(request);
        }
        own.watch(System.nanoTime());
        assertThat(told).containsExactly("up", "up", "up");
        own.fail(new GroupAbortedException(FailureContext.NONE, "test"));
        questions.set(0);
        own.watch(System.nanoTime());
        // Once for each message. A thread that waits asks on and on.
        assertThat(questions.get()).isEqualTo(works.size());
        assertThat(works).noneMatch(Work::isCompleted);
        copies = true;
        own.watch(System.nanoTime());
        assertThat(works).allMatch(Work::isCompleted);
        own.close(Duration.ZERO);
    }

    @Test
    void aMessageThatADeviceKeepsIsGivenUpOnce() {
        copies = false;
        Memory memory = Memory.owned(() -> {}, "test");
        Operation operation = sum(10, memory);
        operation.kind = OperationKind.SEND;
        long request = staging.start(operation);
        engine.fail(new GroupAbortedException(FailureContext.NONE, "test"));
        assertThatThrownBy(() -> staging.await(request))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("the device did not complete its copies");
        copies = true;
    }

    @Test
    void memoryStaysWhereACopyDoesNotEnd() {
        copies = false;
        engine.fail(new GroupAbortedException(FailureContext.NONE, "test"));
        AtomicBoolean freed = new AtomicBoolean();
        Memory memory = Memory.owned(() -> freed.set(true), "test");
        Operation operation = sum(10, memory);
        assertThatThrownBy(() -> staging.run(operation))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("the device did not complete its copies");
        operation.releaseMemory();
        memory.close();
        assertThat(freed).isFalse();
        assertThat(told).containsExactly("down");
    }
}

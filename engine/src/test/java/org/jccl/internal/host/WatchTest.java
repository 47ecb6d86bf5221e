package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Work;
import org.jccl.internal.device.StreamEngine;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.engine.Engine;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.Capabilities;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.OperationKind;
import org.jccl.spi.StreamCommunicator;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a tick of the watchdog, or closing, must not omit, whatever else fails. */
class WatchTest {

    private static final Duration TIMEOUT = expires(Duration.ofSeconds(60));
    private static final Device DEVICE = new Device("test", 0);

    private final ScriptedCommunicator library = new ScriptedCommunicator();
    private final Store store = HashStore.create(TIMEOUT);
    private final List<Engine> engines = new ArrayList<>();
    private final Map<String, NativeException> libraryFailures = new HashMap<>();
    private NativeException deviceFailure;

    @AfterEach
    void abortWhatIsLeft() {
        engines.forEach(
                engine ->
                        engine.fail(
                                new GroupAbortedException(FailureContext.NONE, "test is over")));
    }

    private Engine hostEngine(int rank) {
        return add(
                new HostEngine(
                        library.communicator(),
                        FailureContext.ofGroup("g", rank),
                        TIMEOUT,
                        new DesyncDetector(Optional.of(store), rank, 2),
                        TensorLocation.HOST));
    }

    private Engine streamEngine(int rank) {
        return add(
                new StreamEngine(
                        streamLibrary(),
                        FailureContext.ofGroup("g", rank),
                        TIMEOUT,
                        new DesyncDetector(Optional.of(store), rank, 2),
                        runtime(),
                        DEVICE,
                        false));
    }

    /** A library that enqueues nothing, and fails as the test says. */
    private StreamCommunicator streamLibrary() {
        return (StreamCommunicator)
                Proxy.newProxyInstance(
                        StreamCommunicator.class.getClassLoader(),
                        new Class<?>[] {StreamCommunicator.class},
                        (proxy, method, arguments) -> {
                            NativeException failure = libraryFailures.get(method.getName());
                            if (failure != null) {
                                throw failure;
                            }
                            return switch (method.getName()) {
                                case "capabilities" -> Capabilities.ALL;
                                case "abandonsOperations" -> false;
                                default -> null;
                            };
                        });
    }

    private Engine add(Engine engine) {
        engines.add(engine);
        return engine;
    }

    /** A device on which polling fails once {@link #deviceFailure} is set. */
    private DeviceRuntime runtime() {
        return (DeviceRuntime)
                Proxy.newProxyInstance(
                        DeviceRuntime.class.getClassLoader(),
                        new Class<?>[] {DeviceRuntime.class},
                        (proxy, method, arguments) ->
                                switch (method.getName()) {
                                    case "deviceCount" -> 1;
                                    case "createStream" -> 1L;
                                    case "preparePollingThread" -> {
                                        if (deviceFailure != null) {
                                            throw deviceFailure;
                                        }
                                        yield null;
                                    }
                                    default -> null;
                                });
    }

    private static Work receive(Engine engine) {
        Operation operation = engine.newOperation();
        operation.kind = OperationKind.RECV;
        operation.type = DataType.FLOAT32;
        operation.count = 4;
        operation.peer = 1;
        return engine.submit(operation);
    }

    private Work submitBlocked(Engine engine) throws InterruptedException {
        library.block();
        Operation operation = engine.newOperation();
        operation.kind = OperationKind.ALL_REDUCE;
        operation.type = DataType.FLOAT32;
        operation.count = 4;
        operation.op = ReduceOp.SUM;
        Work work = engine.submit(operation);
        library.awaitCalls(1);
        return work;
    }

    private static void watchIn(Engine engine, Duration later) {
        engine.watch(System.nanoTime() + later.toNanos());
    }

    @Test
    void deadlinesHoldWithoutAStoreThatWasClosedBeforeTheGroup() throws Exception {
        Engine engine = hostEngine(0);
        Work work = submitBlocked(engine);
        store.close();
        watchIn(engine, expires(Duration.ofSeconds(1)));
        assertThat(work.isCompleted()).isFalse();
        watchIn(engine, TIMEOUT.plusSeconds(1));
        assertThatThrownBy(work::synchronize)
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("not complete after 60 s");
    }

    /** Many messages may take longer than one that has no partner is waited for. */
    @Test
    void closingWaitsForMessagesAsLongAsSomeEnd() throws Exception {
        Engine engine = hostEngine(0);
        List<Work> works = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            works.add(receive(engine));
        }
        Duration timeout = enough(Duration.ofSeconds(2));
        Thread closer = new Thread(() -> engine.close(timeout));
        closer.start();
        for (int request = 1; request <= works.size(); request++) {
            // Each pause is shorter than the timeout, and all together are longer.
            Thread.sleep(timeout.toMillis() / 4);
            library.complete(request);
        }
        closer.join();
        assertThat(works).allMatch(work -> work.isCompleted() && work.exception().isEmpty());
    }

    @Test
    void theFirstFailureIsToldWithoutAStoreToo() throws Exception {
        Engine engine = hostEngine(0);
        Work work = submitBlocked(engine);
        store.close();
        engine.fail(new PeerLostException(FailureContext.NONE, "link down"));
        watchIn(engine, Duration.ZERO);
        assertThatThrownBy(work::synchronize)
                .isInstanceOf(PeerLostException.class)
                .hasMessageContaining("link down");
    }

    @Test
    void aRankWhoseDeviceIsLostTellsTheOthers() throws Exception {
        Engine lost = streamEngine(0);
        Engine waiting = hostEngine(1);
        Work work = submitBlocked(waiting);
        watchIn(lost, Duration.ZERO);
        deviceFailure = new NativeException(FailureContext.NONE, "device", 7, "off the bus");
        watchIn(lost, Duration.ZERO);
        assertThatThrownBy(lost::requireUsable)
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("off the bus");
        watchIn(waiting, expires(Duration.ofSeconds(1)));
        assertThatThrownBy(work::synchronize)
                .hasMessageContaining("rank 0 reported: ")
                .hasMessageContaining("off the bus");
    }
}

package org.jccl.internal.host;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jccl.BackendUnavailableException;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.diagnosis.DesyncDetector;
import org.jccl.internal.group.WorldBuilder;
import org.jccl.internal.memory.ScratchMemory;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.DeviceRuntime;
import org.junit.jupiter.api.Test;

/** What groups on devices make, and whether they end it. */
class DeviceLocationTest {

    private static final Device DEVICE = new Device("nobodys", 0);

    private final List<String> calls = new ArrayList<>();
    private boolean copiesEnd = true;

    private final HostEngine engine =
            new HostEngine(
                    new ScriptedCommunicator().communicator(),
                    FailureContext.ofGroup("g", 0),
                    enough(Duration.ofSeconds(60)),
                    new DesyncDetector(Optional.empty(), 0, 2),
                    TensorLocation.HOST);

    private final DeviceRuntime runtime =
            (DeviceRuntime)
                    Proxy.newProxyInstance(
                            DeviceRuntime.class.getClassLoader(),
                            new Class<?>[] {DeviceRuntime.class},
                            (proxy, method, arguments) -> {
                                calls.add(method.getName());
                                return switch (method.getName()) {
                                    case "deviceCount" -> 1;
                                    case "createStream" -> 7L;
                                    case "awaitStream" -> copiesEnd;
                                    default -> null;
                                };
                            });

    private ScratchMemory scratch() {
        return new DeviceLocation(DEVICE, runtime).scratch(engine.failure, 0);
    }

    @Test
    void aPlaceThatCopiesNothingHasNoStream() {
        ScratchMemory scratch = scratch();
        scratch.finishCopies();
        scratch.close();
        assertThat(calls).doesNotContain("createStream", "awaitStream", "destroyStream");
    }

    /** The device may still use its memory. */
    @Test
    void aCopyThatADeviceNeverEndsIsGivenUpWithTheGroup() {
        ScratchMemory scratch = scratch();
        scratch.copy(1, 2, 3);
        copiesEnd = false;
        engine.fail(new GroupAbortedException(FailureContext.NONE, "test"));
        assertThatThrownBy(scratch::finishCopies)
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("the device did not complete its copies");
        scratch.free(1);
        scratch.close();
        assertThat(calls).doesNotContain("synchronizeStream", "free", "destroyStream");
    }

    @Test
    void aPlaceEndsTheOneStreamOfItsCopies() {
        ScratchMemory scratch = scratch();
        scratch.copy(1, 2, 3);
        scratch.copy(4, 5, 6);
        scratch.finishCopies();
        scratch.close();
        calls.removeIf(call -> call.equals("deviceCount") || call.equals("setDevice"));
        assertThat(calls)
                .containsExactly("createStream", "copy", "copy", "awaitStream", "destroyStream");
    }

    @Test
    void aCommunicatorWithoutEngineIsClosed() {
        ScriptedCommunicator library = new ScriptedCommunicator();
        BackendProvider provider =
                (BackendProvider)
                        Proxy.newProxyInstance(
                                BackendProvider.class.getClassLoader(),
                                new Class<?>[] {BackendProvider.class},
                                (proxy, method, arguments) ->
                                        switch (method.getName()) {
                                            case "name" -> "test";
                                            case "deviceTypes" -> Set.of(DEVICE.type());
                                            case "deviceTypesOfOtherBindings" -> Set.of();
                                            case "create" -> library.communicator();
                                            default -> null;
                                        });
        Backend backend = new Backend(provider, DEVICE, Optional.empty());
        assertThatThrownBy(
                        () ->
                                new WorldBuilder(
                                                0,
                                                1,
                                                enough(Duration.ofSeconds(1)),
                                                List.of(backend))
                                        .connect())
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("no binding on the class path drives devices");
        assertThat(library.calls()).containsExactly("close");
    }
}

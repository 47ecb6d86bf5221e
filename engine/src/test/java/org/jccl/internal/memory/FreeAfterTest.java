package org.jccl.internal.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.spi.DeviceRuntime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory of a device that a stream still uses. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
final class FreeAfterTest {

    private static final Duration PATIENCE = enough(Duration.ofSeconds(20));

    private final List<String> calls = new CopyOnWriteArrayList<>();

    /** Waits for an event well, or fails and then says whether it is complete. */
    private DeviceRuntime runtime(boolean fails, boolean complete) {
        return (DeviceRuntime)
                Proxy.newProxyInstance(
                        DeviceRuntime.class.getClassLoader(),
                        new Class<?>[] {DeviceRuntime.class},
                        (proxy, method, arguments) -> {
                            calls.add(method.getName());
                            switch (method.getName()) {
                                case "createEvent":
                                    return 1L;
                                case "queryEvent":
                                    return complete;
                                case "synchronizeEvent":
                                    if (fails) {
                                        throw new GroupAbortedException(
                                                FailureContext.NONE, "stuck");
                                    }
                                    return null;
                                default:
                                    return null;
                            }
                        });
    }

    private List<String> afterFreeing(String device, boolean fails, boolean complete) {
        Device place = new Device(device, 0);
        new DeviceMemory(runtime(fails, complete), place).freeAfter(4096, 0);
        assertThat(Reaper.of(place).await(PATIENCE)).isTrue();
        return calls;
    }

    @Test
    void memoryIsFreedOnceTheStreamHasPassed() {
        assertThat(afterFreeing("passed", false, false))
                .containsSubsequence("recordEvent", "synchronizeEvent", "destroyEvent", "free");
    }

    /** A library without an abort may still write to it. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatCanNotBeAwaitedIsFreedOnlyIfItIsDone(boolean complete) {
        List<String> all = afterFreeing("stuck" + complete, true, complete);
        assertThat(all.contains("free")).isEqualTo(complete);
        assertThat(all).contains("destroyEvent");
    }
}

package org.jccl.internal.memory;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jccl.Device;
import org.jccl.spi.DeviceRuntime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Memory of a device that has none left at first. */
@Timeout(value = 1, unit = TimeUnit.MINUTES)
final class DeviceMemoryTest {

    private final List<Runnable> beforeEachAllocation = new ArrayList<>();
    private int allocations;

    private final DeviceRuntime runtime =
            (DeviceRuntime)
                    Proxy.newProxyInstance(
                            DeviceRuntime.class.getClassLoader(),
                            new Class<?>[] {DeviceRuntime.class},
                            (proxy, method, arguments) -> {
                                if (method.getName().equals("allocate")) {
                                    return allocate();
                                }
                                throw new AssertionError(method + " is not expected");
                            });

    private final DeviceMemory memory = new DeviceMemory(runtime, new Device("abacus", 3));

    private long allocate() {
        if (allocations < beforeEachAllocation.size()) {
            beforeEachAllocation.get(allocations++).run();
            throw new OutOfMemoryError("none left");
        }
        return 4096;
    }

    private void failing(Runnable... meanwhile) {
        beforeEachAllocation.addAll(List.of(meanwhile));
    }

    @Test
    void waitsForWhatIsClosedAndStillInUse() {
        Memory closed = Memory.owned(() -> {}, "closed");
        closed.acquire();
        closed.close();
        failing(() -> {}, () -> {}, closed::release);
        assertThat(memory.allocate(1)).isEqualTo(4096);
    }

    @Test
    void memoryThatIsClosedAndStillInUseIsAwaited() {
        Memory used = Memory.owned(() -> {}, "used");
        used.acquire();
        used.close();
        used.close();
        assertThat(Memory.isAwaited()).isTrue();
        used.release();
    }
}

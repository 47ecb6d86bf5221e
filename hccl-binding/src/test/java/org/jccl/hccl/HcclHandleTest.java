package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.jccl.GroupAbortedException;
import org.junit.jupiter.api.Test;

/** Who is inside when a communicator is destroyed; of a null one the library destroys nothing. */
final class HcclHandleTest {

    private static HcclHandle handle(String name, Duration grace) {
        HcclLibraries libraries = HcclLibraries.get();
        libraries.runtime().setDevice(0);
        return new HcclHandle(0, name, 1, 0, libraries, grace);
    }

    private static Thread threadOfAbort(String name) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("jccl-hccl-abort-" + name))
                .findAny()
                .orElse(null);
    }

    @Test
    void anAbortWaitsForTheThreadInside() {
        HcclHandle handle = handle("patient", Duration.ofHours(1));
        handle.enter();
        handle.abort();
        Thread abort = threadOfAbort("patient");
        assertThat(abort).isNotNull();
        while (abort.isAlive() && abort.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
        assertThat(abort.getState()).isEqualTo(Thread.State.TIMED_WAITING);
        handle.leave();
        assertThat(handle.close()).isTrue();
        assertThatThrownBy(handle::enter).isInstanceOf(GroupAbortedException.class);
    }

    @Test
    void anAbortDoesNotWaitForGood() {
        HcclHandle handle = handle("impatient", Duration.ZERO);
        handle.enter();
        handle.abort();
        assertThat(handle.close()).isTrue();
        handle.leave();
    }
}

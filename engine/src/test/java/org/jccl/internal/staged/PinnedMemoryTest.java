package org.jccl.internal.staged;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jccl.Device;
import org.jccl.internal.memory.Reaper;
import org.jccl.spi.DeviceRuntime;
import org.junit.jupiter.api.Test;

/** That host memory is used again, bounded, and freed. */
class PinnedMemoryTest {

    private static final Device DEVICE = new Device("pinned", 0);
    private static final Duration PATIENCE = enough(Duration.ofSeconds(20));

    /** Sizes by address. */
    private final Map<Long, Long> allocated = new ConcurrentHashMap<>();

    private final AtomicLong next = new AtomicLong(4096);
    private boolean hasLocked = true;

    private final DeviceRuntime runtime =
            (DeviceRuntime)
                    Proxy.newProxyInstance(
                            DeviceRuntime.class.getClassLoader(),
                            new Class<?>[] {DeviceRuntime.class},
                            (proxy, method, arguments) ->
                                    switch (method.getName()) {
                                        case "allocateHost" ->
                                                hasLocked ? allocate((long) arguments[0]) : 0L;
                                        case "freeHost" -> {
                                            assertThat(allocated.remove(arguments[0])).isNotNull();
                                            yield null;
                                        }
                                        default -> null;
                                    });

    private final PinnedMemory memory = new PinnedMemory(runtime, DEVICE);

    private long allocate(long bytes) {
        long address = next.getAndAdd(bytes);
        allocated.put(address, bytes);
        return address;
    }

    private void awaitReaper() {
        assertThat(Reaper.of(DEVICE).await(PATIENCE)).isTrue();
    }

    @Test
    void aPieceIsUsedAgain() {
        PinnedMemory.Piece first = memory.take(5000);
        assertThat(first.bytes()).isEqualTo(8192);
        memory.giveBack(first);
        assertThat(memory.take(8000)).isSameAs(first);
        assertThat(memory.take(1).address()).isNotEqualTo(first.address());
        assertThat(allocated).hasSize(2);
    }

    @Test
    void theSmallestThatFitsIsTaken() {
        PinnedMemory.Piece large = memory.take(1 << 20);
        PinnedMemory.Piece small = memory.take(1 << 14);
        memory.giveBack(large);
        memory.giveBack(small);
        assertThat(memory.take(1 << 13)).isSameAs(small);
        assertThat(memory.take(1 << 13)).isSameAs(large);
    }

    @Test
    void whatLiesIdleIsBounded() {
        PinnedMemory.Piece kept = memory.take(PinnedMemory.MAX_IDLE);
        PinnedMemory.Piece more = memory.take(1);
        PinnedMemory.Piece huge = memory.take(3 * PinnedMemory.MAX_IDLE + 1);
        assertThat(huge.bytes()).isEqualTo(3 * PinnedMemory.MAX_IDLE + 1);
        memory.giveBack(kept);
        memory.giveBack(more);
        memory.giveBack(huge);
        awaitReaper();
        assertThat(allocated).containsOnlyKeys(kept.address());
    }

    @Test
    void closingFreesWhatIsIdleAndLaterWhatComesBack() {
        PinnedMemory.Piece idle = memory.take(10);
        PinnedMemory.Piece used = memory.take(10);
        memory.giveBack(idle);
        memory.close();
        awaitReaper();
        assertThat(allocated).containsOnlyKeys(used.address());
        memory.giveBack(used);
        awaitReaper();
        assertThat(allocated).isEmpty();
    }

    @Test
    void ordinaryMemoryDoesWhereThereIsNoOther() {
        hasLocked = false;
        PinnedMemory.Piece piece = memory.take(100);
        assertThat(piece.address()).isNotZero();
        memory.giveBack(piece);
        memory.close();
        assertThat(allocated).isEmpty();
    }
}

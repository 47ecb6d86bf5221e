package org.jccl.internal.operation;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jccl.internal.memory.Memory;
import org.junit.jupiter.api.Test;

final class MemoryHoldsTest {

    private final List<Integer> freed = new ArrayList<>();
    private final MemoryHolds holds = new MemoryHolds();

    private Memory memory(int number) {
        return Memory.owned(() -> freed.add(number), "memory " + number);
    }

    private void takeOver(Memory... used) {
        Operation operation = new Operation();
        for (Memory each : used) {
            assertThat(operation.hold(each)).isTrue();
        }
        holds.takeFrom(operation);
        operation.releaseMemory(); // of which nothing is left
    }

    @Test
    void whatIsClosedIsFreedWhenTheHoldsEnd() {
        Memory first = memory(1);
        Memory second = memory(2);
        for (int i = 0; i < 100; i++) {
            takeOver(first, second);
        }
        takeOver(second);
        first.close();
        assertThat(freed).isEmpty();
        holds.release();
        assertThat(freed).containsExactly(1);
        second.close();
        assertThat(freed).containsExactly(1, 2);
    }

    @Test
    void holdsMoveToOthers() {
        MemoryHolds others = new MemoryHolds();
        List<Memory> all = IntStream.range(0, 20).mapToObj(this::memory).toList();
        all.forEach(this::takeOver);
        takeOver(all.toArray(Memory[]::new));
        holds.moveTo(others);
        all.forEach(Memory::close);
        holds.release();
        assertThat(freed).isEmpty();
        others.release();
        others.release();
        assertThat(freed)
                .containsExactlyInAnyOrderElementsOf(IntStream.range(0, 20).boxed().toList());
    }

    @Test
    void whatIsKeptIsNeverFreed() {
        Memory kept = memory(1);
        takeOver(kept);
        holds.retain();
        holds.release();
        kept.close();
        assertThat(freed).isEmpty();
    }
}

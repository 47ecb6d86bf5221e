package org.jccl.internal.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jccl.internal.operation.Operation;
import org.jccl.spi.OperationKind;
import org.junit.jupiter.api.Test;

final class WorkRingTest {

    private final WorkRing works = new WorkRing(this);
    private final List<DeviceWork> all = new ArrayList<>();
    private int asked;

    private void add(int count) {
        for (int i = 0; i < count; i++) {
            Operation operation = new Operation();
            operation.kind = OperationKind.ALL_REDUCE;
            operation.sequence = all.size();
            DeviceWork work = new DeviceWork(null, operation, false);
            all.add(work);
            works.add(work);
        }
    }

    private List<Long> taken(Set<DeviceWork> passed) {
        return sequences(
                works.takePassed(
                        work -> {
                            asked++;
                            return passed.contains(work);
                        }));
    }

    private static List<Long> sequences(DeviceWork[] works) {
        return List.of(works).stream().map(DeviceWork::sequence).toList();
    }

    @Test
    void takesWhatHasPassedInOrder() {
        add(3);
        assertThat(taken(Set.of())).isEmpty();
        assertThat(taken(Set.copyOf(all.subList(0, 2)))).containsExactly(0L, 1L);
        assertThat(taken(Set.copyOf(all))).containsExactly(2L);
        assertThat(taken(Set.copyOf(all))).isEmpty();
    }

    @Test
    void theNewestTellsOfAllBeforeIt() {
        add(1000);
        assertThat(taken(Set.of(all.get(999)))).hasSize(1000);
        assertThat(asked).isEqualTo(1);
    }

    @Test
    void asksFewOfMany() {
        add(1000);
        assertThat(taken(Set.copyOf(all.subList(0, 700)))).hasSize(700);
        assertThat(asked).isLessThan(15);
    }

    @Test
    void growsWhereverItBegins() {
        add(50);
        assertThat(taken(Set.copyOf(all.subList(0, 40)))).hasSize(40);
        add(200);
        assertThat(taken(Set.copyOf(all)))
                .containsExactlyElementsOf(
                        all.subList(40, 250).stream().map(DeviceWork::sequence).toList());
    }

    @Test
    void leavesWhatTheLibraryHasNotGot() {
        add(5);
        all.subList(0, 3).forEach(work -> work.issued(7));
        assertThat(sequences(works.takeIssued())).containsExactly(0L, 1L, 2L);
        all.subList(3, 5).forEach(work -> work.issued(7));
        assertThat(sequences(works.takeIssued())).containsExactly(3L, 4L);
    }
}

package org.jccl.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.ProcessGroup;
import org.jccl.TestGroups;
import org.jccl.UsageException;
import org.jccl.conformance.inmemory.InMemoryProvider;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is refused before anything is sent: the world of one would hang or fail otherwise. */
class TorchObjectsTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));
    private static final byte[] VALUE = {1, 2};

    private final ProcessGroup group =
            TestGroups.world(new InMemoryProvider(false), HashStore.create(TIMEOUT), 0, 1, TIMEOUT);

    @AfterEach
    void leave() {
        group.close();
    }

    private static void refused(ThrowingCallable call, String words) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }

    @Test
    void nullIsRefused() {
        refused(() -> TorchObjects.allGather(null, VALUE), "group is null");
        refused(() -> TorchObjects.allGather(group, null), "value is null");
        refused(() -> TorchObjects.gather(null, VALUE, 0), "group is null");
        refused(() -> TorchObjects.gather(group, null, 0), "value is null");
        refused(() -> TorchObjects.broadcast(null, List.of(VALUE), 0), "group is null");
        refused(() -> TorchObjects.broadcast(group, null, 0), "values is null");
        refused(
                () -> TorchObjects.broadcast(group, Arrays.asList(VALUE, null), 0),
                "value is null");
        refused(() -> TorchObjects.scatter(null, List.of(VALUE), 0), "group is null");
        refused(() -> TorchObjects.scatter(group, null, 0), "values is null");
        refused(
                () -> TorchObjects.scatter(group, Arrays.asList((byte[]) null), 0),
                "value is null");
        assertThat(TorchObjects.allGather(group, VALUE)).containsExactly(VALUE);
    }

    @Test
    void rootsAndNumbersOfValuesAreCheckedFirst() {
        for (int root : new int[] {-1, 1, Integer.MAX_VALUE}) {
            refused(() -> TorchObjects.gather(group, VALUE, root), "got " + root);
            refused(() -> TorchObjects.broadcast(group, List.of(VALUE), root), "got " + root);
            refused(() -> TorchObjects.scatter(group, List.of(VALUE), root), "got " + root);
        }
        refused(() -> TorchObjects.scatter(group, List.of(), 0), "each of the 1 ranks, got 0");
        refused(() -> TorchObjects.scatter(group, List.of(VALUE, VALUE), 0), "got 2");
        assertThat(TorchObjects.scatter(group, List.of(VALUE), 0)).isEqualTo(VALUE);
        assertThat(TorchObjects.broadcast(group, List.of(), 0)).isEmpty();
    }
}

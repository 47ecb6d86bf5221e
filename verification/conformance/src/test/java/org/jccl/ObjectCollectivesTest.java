package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.conformance.inmemory.InMemoryProvider;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is refused before anything is sent: the world of one would hang or fail otherwise. */
class ObjectCollectivesTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));
    private static final byte[] VALUE = {1, 2};

    private final ProcessGroup group =
            TestGroups.world(new InMemoryProvider(), HashStore.create(TIMEOUT), 0, 1, TIMEOUT);

    @AfterEach
    void leave() {
        group.close();
    }

    private static void refused(ThrowingCallable call, String words) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }

    @Test
    void nullIsRefused() {
        refused(() -> ObjectCollectives.allGather(null, VALUE), "group is null");
        refused(() -> ObjectCollectives.allGather(group, null), "value is null");
        refused(() -> ObjectCollectives.gather(null, VALUE, 0), "group is null");
        refused(() -> ObjectCollectives.gather(group, null, 0), "value is null");
        refused(() -> ObjectCollectives.broadcast(null, List.of(VALUE), 0), "group is null");
        refused(() -> ObjectCollectives.broadcast(group, null, 0), "values is null");
        refused(
                () -> ObjectCollectives.broadcast(group, Arrays.asList(VALUE, null), 0),
                "value is null");
        refused(() -> ObjectCollectives.scatter(null, List.of(VALUE), 0), "group is null");
        refused(() -> ObjectCollectives.scatter(group, null, 0), "values is null");
        refused(
                () -> ObjectCollectives.scatter(group, Arrays.asList((byte[]) null), 0),
                "value is null");
        assertThat(ObjectCollectives.allGather(group, VALUE)).containsExactly(VALUE);
    }

    @Test
    void rootsAndNumbersOfValuesAreCheckedFirst() {
        for (int root : new int[] {-1, 1, Integer.MAX_VALUE}) {
            refused(() -> ObjectCollectives.gather(group, VALUE, root), "got " + root);
            refused(() -> ObjectCollectives.broadcast(group, List.of(VALUE), root), "got " + root);
            refused(() -> ObjectCollectives.scatter(group, List.of(VALUE), root), "got " + root);
            refused(() -> ObjectCollectives.sendObject(group, VALUE, root), "got " + root);
            refused(() -> ObjectCollectives.recvObject(group, root), "got " + root);
        }
        refused(() -> ObjectCollectives.scatter(group, List.of(), 0), "each of the 1 ranks, got 0");
        refused(() -> ObjectCollectives.scatter(group, List.of(VALUE, VALUE), 0), "got 2");
        assertThat(ObjectCollectives.scatter(group, List.of(VALUE), 0)).isEqualTo(VALUE);
        assertThat(ObjectCollectives.broadcast(group, List.of(), 0)).isEmpty();
    }
}

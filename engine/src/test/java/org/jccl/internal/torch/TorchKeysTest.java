package org.jccl.internal.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.UsageException;
import org.jccl.internal.group.GroupKeys;
import org.jccl.store.HashStore;
import org.jccl.store.PrefixStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The names were read from PyTorch 2.13's own store. */
@Timeout(60)
class TorchKeysTest {

    private static final FailureContext RANK = FailureContext.ofGroup("world", 0);

    private final HashStore store = HashStore.create(enough(Duration.ofSeconds(5)));

    private GroupKeys world() {
        return TorchKeys.of(Interop.TORCH, new PrefixStore("default_pg", store));
    }

    @Test
    void theWorldIsGroupZero() {
        world().communicator("cpu").set("0/1", new byte[1]);
        assertThat(store.listKeys()).containsExactly("default_pg/0//cpu//0/1");
    }

    @Test
    void groupsAreNumberedBelowTheWorld() {
        GroupKeys world = world();
        world.next(RANK, List.of(0, 1));
        world.next(RANK, List.of(0, 2)).communicator("cuda").set("0", new byte[1]);
        assertThat(store.listKeys()).containsExactly("default_pg/0//2//cuda//0");
    }

    @Test
    void ranksThatPytorchWouldSortAreRefused() {
        GroupKeys world = world();
        assertThatThrownBy(() -> world.next(RANK, List.of(2, 0)))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("ascending");
        world.next(RANK, List.of(0, 2)).communicator("cpu").set("x", new byte[1]);
        assertThat(store.listKeys()).containsExactly("default_pg/0//1//cpu//x");
    }

    @Test
    void groupsAreMadeOfTheWorld() {
        GroupKeys group = world().next(RANK, List.of(0, 1));
        assertThatThrownBy(() -> group.next(RANK, List.of(0)))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("of the world");
    }

    @Test
    void groupsAreCalledByTheirNumbers() {
        GroupKeys world = world();
        assertThat(world.name()).isEqualTo("0");
        world.next(RANK, List.of(0, 1));
        assertThat(world.next(RANK, List.of(0, 1)).name()).isEqualTo("2");
    }

    @Test
    void from215OnTheLowestRankIsTheColor() {
        GroupKeys world = TorchKeys.of(Interop.TORCH_2_15, store);
        assertThat(world.color(List.of(2, 5))).hasValue(2);
        GroupKeys unbound = TorchKeys.of(Interop.TORCH_2_14_OPT_IN, store);
        assertThat(unbound.color(List.of(2, 5))).isEmpty();
    }
}

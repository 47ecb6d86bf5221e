package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jccl.BackendOptions;
import org.jccl.BootstrapException;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

final class CommunicatorConfigTest {

    private static final Duration WITHIN = expires(Duration.ofMillis(1));

    private record Mine(String backend) implements BackendOptions {}

    private record Other(String backend) implements BackendOptions {}

    private static CommunicatorConfig config(Store store, Duration timeout, BackendOptions given) {
        return new CommunicatorConfig(
                "world",
                1,
                2,
                Optional.ofNullable(store),
                timeout,
                timeout,
                new Device("npu", 0),
                Interop.NONE,
                Optional.empty(),
                Optional.ofNullable(given),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }

    private static CommunicatorConfig config(BackendOptions given) {
        return config(null, enough(Duration.ofSeconds(30)), given);
    }

    @Test
    void optionsAreOfTheBackendsClass() {
        Mine mine = new Mine("mine");
        assertThat(config(mine).options(Mine.class)).containsSame(mine);
        assertThat(config(null).options(Mine.class)).isEmpty();
        assertThatThrownBy(() -> config(new Other("mine")).options(Mine.class))
                .isInstanceOf(UsageException.class)
                .hasMessage("backend mine takes Mine, not " + Other.class.getName());
    }

    @Test
    void aStoreThatIsNeededIsThere() {
        try (Store store = HashStore.create(enough(Duration.ofSeconds(30)))) {
            assertThat(
                            config(store, enough(Duration.ofSeconds(30)), null)
                                    .requireStore("mine needs one"))
                    .isSameAs(store);
        }
        assertThatThrownBy(() -> config(null).requireStore("mine needs a store"))
                .isInstanceOf(UsageException.class)
                .hasMessage("mine needs a store; build the group with one, or under a launcher");
        assertThatThrownBy(() -> config(null).fetch("id", 3, "id", WITHIN))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("build the group with one");
    }

    @Test
    void fetchesWhatRankZeroPut() {
        try (Store store = HashStore.create(enough(Duration.ofSeconds(30)))) {
            store.set("id", new byte[] {1, 2, 3});
            CommunicatorConfig config = config(store, enough(Duration.ofSeconds(30)), null);
            assertThat(config.fetch("id", 3, "mine id", WITHIN)).containsExactly(1, 2, 3);
            assertThatThrownBy(() -> config.fetch("id", 4, "mine id", WITHIN))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessage(
                            "the mine id in the store has 3 bytes instead of 4; is the store used"
                                    + " by another job?");
        }
    }

    @Test
    void fetchingEndsAtTheDeadline() {
        try (Store store = HashStore.create(enough(Duration.ofSeconds(30)))) {
            CommunicatorConfig config = config(store, expires(Duration.ofMillis(1)), null);
            assertThatThrownBy(() -> config.fetch("id", 3, "mine id", WITHIN))
                    .isInstanceOf(OperationTimeoutException.class)
                    .hasMessage("rank 0 did not write the mine id to the store within 100 ms")
                    .hasNoCause();
        }
    }

    @Test
    void namesTheRankThatWasLostWhileAllFormed() {
        try (Store store = HashStore.create(enough(Duration.ofSeconds(30)))) {
            store.set("split/here/0", new byte[0]);
            CommunicatorConfig config = config(store, enough(Duration.ofSeconds(30)), null);
            assertThatThrownBy(() -> config.join("split", List.of(), this::lateForming))
                    .isInstanceOf(OperationTimeoutException.class)
                    .hasMessage(
                            "mine took too long; all 2 ranks have arrived, and all except ranks"
                                    + " [0] have given up");
        }
    }

    private Object lateForming() {
        throw new OperationTimeoutException(FailureContext.NONE, "mine took too long", null);
    }
}

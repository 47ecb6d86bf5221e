package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.spi.Arrivals;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

/** What ranks tell each other before MPI is asked. */
final class MembersTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));

    private final Store store = HashStore.create(TIMEOUT);

    private int[] worldRanks(Duration within) {
        return worldRanks(within, MpiOptions.defaults());
    }

    private int[] worldRanks(Duration within, MpiOptions options) {
        CommunicatorConfig config =
                new CommunicatorConfig(
                        "g",
                        0,
                        2,
                        Optional.of(store),
                        TIMEOUT,
                        within,
                        Device.CPU,
                        Interop.NONE,
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty(),
                        List.of(),
                        Optional.empty());
        Arrivals arrivals = new Arrivals(store, 2, Members::key);
        return Members.worldRanks(config, options, FailureContext.ofGroup("g", 0), arrivals, 5, 8);
    }

    private void tell(int rank, String text) {
        store.set(Members.key(rank), text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void eachTellsWhichProcessItIs() {
        tell(1, "7");
        assertThat(worldRanks(TIMEOUT)).containsExactly(5, 7);
    }

    /** MPI would wait for good for the calls that one of them does not make. */
    @Test
    void whoHasOtherOptionsIsNamed() {
        MpiOptions options = MpiOptions.defaults().withChecks();
        tell(1, "7 checks");
        assertThat(worldRanks(TIMEOUT, options.withProgressThread())).containsExactly(5, 7);
        assertThatThrownBy(() -> worldRanks(TIMEOUT, options.withTrustedSizes()))
                .isInstanceOf(MismatchException.class)
                .hasMessageContaining("group 'g', rank 0")
                .hasMessageContaining("rank 0 has the options [checks trustedSizes]")
                .hasMessageContaining("rank 1 has [checks]");
        assertThatThrownBy(() -> worldRanks(TIMEOUT)).hasMessageContaining("options [], rank 1");
    }

    @Test
    void whoDoesNotComeIsNamed() {
        assertThatThrownBy(() -> worldRanks(expires(Duration.ofMillis(1))))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("group 'g', rank 0")
                .hasMessageContaining("ranks [1] of 2 have not arrived");
    }

    @Test
    void whatNoRankTellsIsNamed() {
        for (String told : List.of("", "x", "8", "-1", "99999999999")) {
            tell(1, told);
            assertThatThrownBy(() -> worldRanks(TIMEOUT))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("group 'g', rank 0")
                    .hasMessageContaining("key rank/1 of rank 1");
        }
    }
}

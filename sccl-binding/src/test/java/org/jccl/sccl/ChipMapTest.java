package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

final class ChipMapTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(30));

    private static CommunicatorConfig rank(int rank, int size, int chip, Store store) {
        return rank(rank, size, chip, store, TIMEOUT);
    }

    private static CommunicatorConfig rank(
            int rank, int size, int chip, Store store, Duration timeout) {
        return new CommunicatorConfig(
                "world",
                rank,
                size,
                Optional.ofNullable(store),
                timeout,
                timeout,
                new Device("tpu", chip),
                Interop.NONE,
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }

    private static int[] gather(int size, int... chips) {
        try (Store store = HashStore.create(TIMEOUT)) {
            for (int other = 1; other < size; other++) {
                int mine = other;
                // A thread each: on two processors Java 25's common pool has one for all.
                new Thread(
                                () ->
                                        ChipMap.of(
                                                rank(mine, size, chips[mine], store),
                                                ScclOptions.defaults(),
                                                Map.of()))
                        .start();
            }
            return ChipMap.of(rank(0, size, chips[0], store), ScclOptions.defaults(), Map.of());
        }
    }

    @Test
    void ranksTellEachOtherTheirTpus() {
        assertThat(gather(3, 4, 0, 2)).containsExactly(4, 0, 2);
    }

    @Test
    void twoRanksOnOneTpuAreNamed() {
        assertThatThrownBy(() -> gather(3, 1, 0, 1))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("ranks 0 and 2 both use TPU 1");
    }

    @Test
    void aRankThatTellsNothingEndsAtTheDeadline() {
        try (Store store = HashStore.create(TIMEOUT)) {
            CommunicatorConfig hasty = rank(0, 2, 0, store, expires(Duration.ofMillis(50)));
            assertThatThrownBy(() -> ChipMap.of(hasty, ScclOptions.defaults(), Map.of()))
                    .isInstanceOf(OperationTimeoutException.class)
                    .hasMessageContaining("ranks [1] of 2 have not arrived");
        }
    }

    @Test
    void whatNoRankTellsIsNamed() {
        for (String told : List.of("", "1", "x host", "-1 host", "99999999999 host")) {
            try (Store store = HashStore.create(TIMEOUT)) {
                store.set("chip/1", told.getBytes(StandardCharsets.UTF_8));
                CommunicatorConfig config = rank(0, 2, 0, store);
                assertThatThrownBy(() -> ChipMap.of(config, ScclOptions.defaults(), Map.of()))
                        .isInstanceOf(BootstrapException.class)
                        .hasMessageContaining("key chip/1 of rank 1");
            }
        }
    }

    @Test
    void aGivenMapNeedsNoStore() {
        assertThat(ChipMap.of(rank(1, 2, 6, null), ScclOptions.ofChips(7, 6, 2), Map.of()))
                .containsExactly(7, 6);
    }

    @Test
    void optionsGoBeforeTheEnvironment() {
        assertThat(
                        ChipMap.of(
                                rank(1, 2, 6, null),
                                ScclOptions.ofChips(7, 6),
                                Map.of("CHIP_MAP", "0,1")))
                .containsExactly(7, 6);
        assertThat(
                        ChipMap.of(
                                rank(1, 2, 1, null),
                                ScclOptions.defaults(),
                                Map.of("CHIP_MAP", "0,1")))
                .containsExactly(0, 1);
    }

    @Test
    void anotherDeviceThanTheMapsIsRefused() {
        assertThatThrownBy(
                        () -> ChipMap.of(rank(1, 2, 1, null), ScclOptions.ofChips(7, 6), Map.of()))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("gives rank 1 the TPU 6")
                .hasMessageContaining("tpu:1");
    }

    @Test
    void aShortMapIsRefused() {
        assertThatThrownBy(
                        () -> ChipMap.of(rank(0, 3, 7, null), ScclOptions.ofChips(7, 6), Map.of()))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("2 TPUs for 3 ranks");
    }
}

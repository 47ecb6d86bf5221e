package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Optional;
import java.util.OptionalInt;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

final class NcclOptionsTest {

    private final NcclOptions options = NcclOptions.defaults();

    @Test
    void defaultsLeaveEverythingToNccl() {
        assertThat(options.blocking()).isTrue();
        assertThat(options.highPriorityStream()).isFalse();
        assertThat(options.minCtas()).isEmpty();
        assertThat(options.backend()).isEqualTo("nccl");
    }

    @Test
    void eachOptionKeepsTheOthers() {
        NcclOptions all =
                options.withHighPriorityStream(true)
                        .withBlocking(false)
                        .withCtas(2, 3)
                        .withCgaClusterSize(4)
                        .withNetworkName("IB")
                        .withTrafficClass(5)
                        .withSplitShare(true);
        assertThat(all.highPriorityStream()).isTrue();
        assertThat(all.blocking()).isFalse();
        assertThat(all.minCtas()).hasValue(2);
        assertThat(all.maxCtas()).hasValue(3);
        assertThat(all.cgaClusterSize()).hasValue(4);
        assertThat(all.networkName()).hasValue("IB");
        assertThat(all.trafficClass()).hasValue(5);
        assertThat(all.splitShare()).isTrue();
        assertThat(options.splitShare()).isFalse();
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        assertThatThrownBy(() -> options.withCtas(3, 2))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("minCtas must not be above maxCtas");
        assertThatThrownBy(() -> options.withCtas(0, 2)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> options.withCgaClusterSize(9)).isInstanceOf(UsageException.class);
    }

    @Test
    void aMinimumOfBlocksWithoutAMaximumIsRefusedAsByNccl() {
        assertThatThrownBy(
                        () ->
                                new NcclOptions(
                                        false,
                                        true,
                                        OptionalInt.of(1),
                                        OptionalInt.empty(),
                                        OptionalInt.empty(),
                                        Optional.empty(),
                                        OptionalInt.empty(),
                                        false))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("minCtas needs maxCtas too");
    }
}

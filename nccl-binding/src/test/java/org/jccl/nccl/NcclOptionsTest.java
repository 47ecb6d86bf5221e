package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Optional;
import java.util.OptionalInt;
import org.jccl.UsageException;
import org.jccl.nccl.NcclOptions.CtaPolicy;
import org.jccl.nccl.NcclOptions.Registration;
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
    void eachOptionIsBuilt() {
        NcclOptions all =
                NcclOptions.builder()
                        .highPriorityStream(true)
                        .blocking(false)
                        .minCtas(2)
                        .maxCtas(3)
                        .cgaClusterSize(4)
                        .networkName("IB")
                        .trafficClass(5)
                        .splitShare(true)
                        .communicatorName("experts")
                        .ctaPolicy(CtaPolicy.EFFICIENCY)
                        .nvlsCtas(6)
                        .collnet(true)
                        .registration(Registration.AUTOMATIC)
                        .build();
        assertThat(all)
                .isEqualTo(
                        new NcclOptions(
                                true,
                                false,
                                OptionalInt.of(2),
                                OptionalInt.of(3),
                                OptionalInt.of(4),
                                Optional.of("IB"),
                                OptionalInt.of(5),
                                true,
                                Optional.of("experts"),
                                Optional.of(CtaPolicy.EFFICIENCY),
                                OptionalInt.of(6),
                                true,
                                Registration.AUTOMATIC));
    }

    private static void refused(NcclOptions.Builder builder, String reason) {
        assertThatThrownBy(builder::build)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("NCCL options: " + reason);
    }

    @Test
    void numbersOutOfRangeAreRefused() {
        refused(NcclOptions.builder().minCtas(3).maxCtas(2), "minCtas must not be above maxCtas");
        refused(NcclOptions.builder().minCtas(0).maxCtas(2), "minCtas and maxCtas");
        refused(NcclOptions.builder().cgaClusterSize(9), "cgaClusterSize");
        refused(NcclOptions.builder().nvlsCtas(0), "nvlsCtas");
    }

    @Test
    void namesThatNcclCannotReadAreRefused() {
        refused(NcclOptions.builder().networkName(null), "networkName");
        refused(NcclOptions.builder().networkName(" "), "networkName");
        refused(NcclOptions.builder().communicatorName("a\0b"), "communicatorName");
    }

    @Test
    void aMinimumOfBlocksWithoutAMaximumIsRefusedAsByNccl() {
        refused(NcclOptions.builder().minCtas(1), "minCtas needs maxCtas too");
    }
}

package org.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class SmokeComparisonTest {

    @Test
    void timesOfEachSizeAreCompared() {
        SmokeComparison found =
                SmokeComparison.of(
                        "a warning\n4 10.2 1.5\n64 20.0 2.5\n",
                        "4 10.0 1.0\n64 19.0 2.0\n1024 1.0 1.0\n");
        assertThat(found.rows()).hasSize(2);
        assertThat(found.markdown())
                .contains("| 4 | 10.200 | 10.000 | 1.020 | yes | 1.500 | 1.000 |")
                .contains("| 64 | 20.000 | 19.000 | 1.053 | no | 2.500 | 2.000 |");
        assertThat(found.verdict()).contains("64 B").doesNotContain("4 B,");
    }

    @Test
    void programsThatFailedGiveNothing() {
        SmokeComparison found = SmokeComparison.of("Exception", "4 1.0 1.0");
        assertThat(found.markdown()).isEmpty();
        assertThat(found.verdict()).isEmpty();
    }
}

package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class NcclKeysTest {

    /** As CPython 3.11 computes them. */
    @Test
    void colorsArePythons() {
        assertThat(NcclKeys.splitColor(List.of(0))).isEqualTo(59908776);
        assertThat(NcclKeys.splitColor(List.of(0, 1))).isEqualTo(2130503744);
        assertThat(NcclKeys.splitColor(List.of(2, 3))).isEqualTo(1121016176);
        assertThat(NcclKeys.splitColor(List.of(0, 1, 2, 3))).isEqualTo(2003953581);
        assertThat(NcclKeys.splitColor(List.of(4, 5, 6, 7))).isEqualTo(728295930);
        assertThat(NcclKeys.splitColor(List.of())).isEqualTo(750394491);
    }

    @Test
    void aPairIsNamedFromTheLowerRank() {
        assertThat(NcclKeys.pair(3, 1)).isEqualTo("1:3").isEqualTo(NcclKeys.pair(1, 3));
    }
}

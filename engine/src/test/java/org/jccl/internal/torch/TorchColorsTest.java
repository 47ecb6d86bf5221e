package org.jccl.internal.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class TorchColorsTest {

    /** As CPython 3.11 computes them. */
    @Test
    void colorsArePythons() {
        assertThat(TorchColors.of(List.of(0))).isEqualTo(59908776);
        assertThat(TorchColors.of(List.of(0, 1))).isEqualTo(2130503744);
        assertThat(TorchColors.of(List.of(2, 3))).isEqualTo(1121016176);
        assertThat(TorchColors.of(List.of(0, 1, 2, 3))).isEqualTo(2003953581);
        assertThat(TorchColors.of(List.of(4, 5, 6, 7))).isEqualTo(728295930);
        assertThat(TorchColors.of(List.of())).isEqualTo(750394491);
    }
}

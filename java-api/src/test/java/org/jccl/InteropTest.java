package org.jccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class InteropTest {

    @ParameterizedTest
    @CsvSource({
        "2.13.0, TORCH",
        "2.14, TORCH",
        "2.14.1+cu126, TORCH",
        "2.15.0a0+git00d947a, TORCH_2_15",
        "2.15.1, TORCH_2_15",
        "2.16, TORCH_2_15"
    })
    void aVersionOfPyTorchSaysWhatItsRanksAre(String version, Interop expected) {
        assertThat(Interop.torch(version)).isEqualTo(expected);
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", "2", "two", "1.13.0", "3.0", "2.x"})
    void somethingElseIsRefused(String version) {
        assertThatThrownBy(() -> Interop.torch(version))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("got " + version);
    }
}

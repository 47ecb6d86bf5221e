package org.jccl.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

final class ByteSizeTest {

    @ParameterizedTest
    @CsvSource({"4,4", "1k,1024", "64K,65536", "16M,16777216", "2G,2147483648", "0.5M,524288"})
    void readsPowersOf1024(String text, long bytes) {
        assertThat(new ByteSize().convert(text)).isEqualTo(bytes);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "K", "-4", "4B", "1e3", "0x10", "0.3", "9999999999G", "4 K M"})
    void refusesOtherText(String text) {
        assertThatThrownBy(() -> new ByteSize().convert(text))
                .isInstanceOf(TypeConversionException.class)
                .hasMessageContaining("'" + text + "' is not a size");
    }
}

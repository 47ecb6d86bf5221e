package org.jccl.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SvgPlotTest {

    @ParameterizedTest
    @CsvSource({"0,1 B", "9,512 B", "10,1 KB", "26,64 MB", "40,1 TB", "50,1024 TB"})
    void labelsSizes(double exponent, String label) {
        assertThat(SvgPlot.size(exponent)).isEqualTo(label);
    }

    @ParameterizedTest
    @CsvSource({"0.1,0.1 µs", "1,1 µs", "100,100 µs", "1000,1 ms", "1000000,1 s", "20,''"})
    void labelsTimes(double micros, String label) {
        assertThat(SvgPlot.micros(micros).replaceFirst("^ .*", "")).isEqualTo(label);
    }

    @ParameterizedTest
    @CsvSource({"0.00001,0.00001", "0.1,0.1", "1,1", "100,100", "3,''"})
    void labelsBandwidths(double gigabytes, String label) {
        assertThat(SvgPlot.plain(gigabytes)).isEqualTo(label);
    }

    @ParameterizedTest
    @CsvSource({"2.5", "-1"})
    void labelsNoSizeBetween(double exponent) {
        assertThat(SvgPlot.size(exponent)).isEmpty();
    }
}

package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class DurationsTest {

    @ParameterizedTest
    @CsvSource({
        ", null",
        "PT5M, 300 s",
        "PT0S, 0 s",
        "PT-5S, -5 s",
        "PT0.25S, 250 ms",
        "PT1.5S, 1500 ms",
        "PT-0.25S, -250 ms",
        "PT0.000005S, 5000 ns",
        "PT25H0.5S, 90000 s",
    })
    void unitsAreThoseThatPeopleWouldWrite(Duration duration, String text) {
        assertThat(Durations.text(duration)).isEqualTo(text);
    }

    @ParameterizedTest
    @CsvSource({"9223372036854775807, 999999999", "-9223372036854775808, 0"})
    void durationsThatDoNotFitALongHaveATextToo(long seconds, long nanos) {
        assertThat(Durations.text(Duration.ofSeconds(seconds, nanos))).isEqualTo(seconds + " s");
    }

    @ParameterizedTest
    @CsvSource({
        "PT59.7S, 60 s",
        "PT5S, 5 s",
        "PT1.98S, 2 s",
        "PT0.27S, 300 ms",
        "PT0.001S, 100 ms"
    })
    void whatIsLeftOfATimeoutIsRoundedUp(Duration left, String text) {
        assertThat(Durations.rounded(left)).isEqualTo(text);
    }
}

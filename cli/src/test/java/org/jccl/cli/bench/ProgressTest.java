package org.jccl.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

final class ProgressTest {

    private final StringWriter text = new StringWriter();
    private long seconds;

    private Progress progress(boolean terminal, int sizes) {
        return new Progress(
                new PrintWriter(text), terminal, sizes, () -> TimeUnit.SECONDS.toNanos(seconds));
    }

    @Test
    void aTerminalHasOneLineThatIsGoneAtTheEnd() {
        Progress progress = progress(true, 3);
        seconds = 4;
        progress.sizeDone();
        assertThat(text).hasToString("\r\033[Kjccl bench: 1 of 3 sizes, about 8 s left");
        progress.clear();
        assertThat(text.toString()).endsWith("left\r\033[K");
        progress.restore();
        seconds = 6;
        progress.sizeDone();
        progress.sizeDone();
        assertThat(text.toString())
                .endsWith("2 of 3 sizes, about 3 s left\r\033[K")
                .doesNotContain("\n");
    }

    @Test
    void elsewhereThereAreFewLinesAndNoControlCharacters() {
        Progress progress = progress(false, 100);
        for (int i = 0; i < 100; i++) {
            seconds++;
            progress.sizeDone();
            progress.clear();
            progress.restore();
        }
        assertThat(text.toString().lines())
                .hasSize(9)
                .first()
                .isEqualTo("jccl bench: 10 of 100 sizes, about 90 s left");
        assertThat(text.toString()).doesNotContain("\r", "\033");
    }

    @Test
    void aShortMeasurementSaysNothingElsewhere() {
        Progress progress = progress(false, 9);
        for (int i = 0; i < 9; i++) {
            seconds++;
            progress.sizeDone();
        }
        assertThat(text.toString()).isEmpty();
    }

    @Test
    void itCanBeOff() {
        Progress none = Progress.none();
        none.sizeDone();
        none.clear();
        none.restore();
        assertThat(text.toString()).isEmpty();
    }
}

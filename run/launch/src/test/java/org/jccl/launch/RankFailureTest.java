package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is said about a rank that failed. */
class RankFailureTest {

    private static String text(int exitCode, String... lines) {
        return new RankFailure(1, "host", 7, exitCode, List.of(lines), Optional.empty()).toString();
    }

    @Test
    void aProcessMayHaveChosenTheExitCodeOfSigkill() {
        assertThat(text(137))
                .contains("exit code 137, as if killed by SIGKILL", "exited with this code itself");
        assertThat(text(1)).endsWith("exited with code 1");
    }

    @Test
    void lastLinesAreShownWhereThereAreSome() {
        assertThat(text(1, "", " ")).doesNotContain("last lines");
        assertThat(text(1, "", "why")).contains("its last lines:", "| why");
    }

    @Test
    void framesOfStackTracesAreNotRepeated() {
        assertThat(text(1, "Exception: why", "\tat a.B.c(B.java:1)", "\t... 3 more"))
                .contains("| Exception: why")
                .doesNotContain("B.java", "3 more");
    }
}

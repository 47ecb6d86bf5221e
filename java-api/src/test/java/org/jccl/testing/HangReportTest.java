package org.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class HangReportTest {

    /** A rank that waits for ever. */
    static final class Stuck {

        private Stuck() {}

        public static void main(String[] arguments) throws InterruptedException {
            System.out.println("ready");
            waitForEver();
        }

        private static void waitForEver() throws InterruptedException {
            Thread.currentThread().join();
        }
    }

    @Test
    void aProcessThatHangsShowsItsStacks() throws Exception {
        Process stuck =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                Stuck.class.getName())
                        .start();
        try {
            assertThat(stuck.inputReader().readLine()).isEqualTo("ready");
            assertThat(HangReport.report())
                    .contains("Process " + stuck.pid() + ": ")
                    .contains(Stuck.class.getName() + ".waitForEver");
        } finally {
            stuck.destroyForcibly();
        }
    }
}

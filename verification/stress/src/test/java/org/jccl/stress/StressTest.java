package org.jccl.stress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** Runs all of jcstress's tests for a short time each. */
@DisabledIfSystemProperty(
        named = "jccl.test.all",
        matches = "nothing",
        disabledReason = "script/test --all runs it")
final class StressTest {

    @Test
    @Timeout(300)
    void nothingForbiddenIsSeen(@TempDir Path reports) throws IOException, InterruptedException {
        assumeTrue(
                Runtime.getRuntime().availableProcessors() >= 2,
                "jcstress needs a processor for each thread of a test");
        Path output = reports.resolve("output.txt");
        Process process =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                "org.openjdk.jcstress.Main",
                                "-m",
                                "sanity",
                                "-r",
                                reports.toString())
                        .directory(new File(reports.toString()))
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        try {
            assertThat(process.waitFor(4, TimeUnit.MINUTES)).isTrue();
        } finally {
            process.destroyForcibly();
        }
        assertThat(process.exitValue()).as(Files.readString(output)).isZero();
        assertThat(Files.readString(output)).contains("All remaining tests: 3 matching");
    }
}

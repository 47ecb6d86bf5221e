package org.jccl.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;

/** Any file is a report, of which a plot can be planned, or is refused. */
class ReportFileFuzzTest {

    @TempDir private static Path folder;

    @FuzzTest
    void readsOrRefuses(byte[] bytes) throws IOException {
        Path file = Files.write(folder.resolve("report"), bytes);
        try {
            List<Measurement> measurements = ReportFile.read(file, "report", false);
            assertThat(Plot.of(measurements).curves()).isNotEmpty();
        } catch (IOException | IllegalArgumentException refused) {
            assertThat(refused.getMessage()).isNotBlank();
        }
    }
}

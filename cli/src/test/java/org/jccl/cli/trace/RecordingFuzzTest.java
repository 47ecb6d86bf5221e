package org.jccl.cli.trace;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;

/** Any file is a recording, of which a trace can be made, or is refused. */
class RecordingFuzzTest {

    @TempDir private static Path folder;

    @FuzzTest
    void readsOrRefuses(byte[] bytes) throws IOException {
        Path file = Files.write(folder.resolve("rank0.world.json"), bytes);
        Recording recording;
        try {
            recording = Recording.read(file);
        } catch (IOException refused) {
            assertThat(refused.getMessage()).isNotBlank();
            return;
        }
        TimelinePage.write(Timeline.of(List.of(recording), ""), folder.resolve("timeline.html"));
        Path trace = folder.resolve("trace.json");
        try (ChromeTrace made = new ChromeTrace(trace, 0)) {
            made.add(recording);
        }
        int values = 0;
        try (JsonParser json = new JsonFactory().createParser(trace.toFile())) {
            while (json.nextToken() != null) {
                values++;
            }
        }
        assertThat(values).isPositive();
    }
}

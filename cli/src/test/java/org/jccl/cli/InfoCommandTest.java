package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class InfoCommandTest {

    @Test
    void tellsInAFewLinesWhatIsUsableAndWhatIsNot() {
        Command info = Command.jccl("info");
        assertThat(info.exitCode()).isZero();
        List<String> lines = info.out().lines().toList();
        // MPI is usable or missing, and two lines are enough for what is usable.
        assertThat(lines).hasSizeBetween(5, 6).allMatch(line -> line.length() < 160);
        assertThat(lines.get(0))
                .matches("jccl .*, Java " + System.getProperty("java.version") + ", Linux .*");
        assertThat(lines.get(1)).matches("usable +gloo \\(0\\.5\\.0, cpu\\).*");
        assertThat(info.out())
                .containsPattern(
                        "\\Rmissing +nccl: libcuda\\.so\\.1 was not found; install the NVIDIA")
                .contains("hccl: libascendcl.so was not found; install CANN")
                .contains("sccl: libtpudnn was not found; install")
                .endsWith("(more: jccl info --verbose)\n")
                .doesNotContain("tried", "name the file");
    }

    @Test
    void tellsOfEachBackendWhetherItIsThere() {
        Command info = Command.jccl("info", "--verbose");
        assertThat(info.exitCode()).isZero();
        assertThat(info.out())
                .contains(System.getProperty("java.version"), System.getProperty("os.arch"))
                .containsPattern("cache +/")
                .containsPattern("gloo +available, version \\S+, devices cpu, /.*libjccl_gloo");
        assertThat(info.out())
                .containsPattern("nccl +libcuda\\.so\\.1 was not found; install the NVIDIA driver")
                .contains(
                        "/nowhere/libcuda.so.1 (system property org.jccl.nccl.driver): no such file")
                .containsPattern("hccl +libascendcl\\.so was not found; install CANN")
                .contains(
                        "/nowhere/libascendcl.so (system property org.jccl.hccl.acl): no such file")
                .containsPattern("sccl +libtpudnn was not found; install");
    }

    @Test
    void jsonTellsTheSame() throws Exception {
        Command info = Command.jccl("info", "--json");
        assertThat(info.exitCode()).isZero();
        Map<String, Boolean> available = new HashMap<>();
        try (JsonParser json = new JsonFactory().createParser(info.out())) {
            String name = null;
            while (json.nextToken() != null) {
                if (json.currentToken() == JsonToken.VALUE_STRING
                        && "name".equals(json.currentName())) {
                    name = json.getText();
                } else if (json.currentToken().isBoolean()) {
                    available.put(name, json.getBooleanValue());
                }
            }
        }
        assertThat(available)
                .containsEntry("gloo", true)
                .containsEntry("nccl", false)
                .containsKeys("mpi", "hccl", "sccl");
    }
}

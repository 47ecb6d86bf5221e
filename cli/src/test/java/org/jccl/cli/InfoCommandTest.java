package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class InfoCommandTest {

    @Test
    void tellsOfEachBackendWhetherItIsThere() {
        Command info = Command.jccl("info");
        assertThat(info.exitCode()).isZero();
        assertThat(info.out())
                .contains(System.getProperty("java.version"), System.getProperty("os.arch"))
                .containsPattern("cache +/")
                .containsPattern("gloo +available, version \\S+, devices cpu, /.*libgloo");
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

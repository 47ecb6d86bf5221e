package org.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Any text has a first host that is one host, or none. */
class SlurmNodeListFuzzTest {

    @FuzzTest
    void firstHostIsAHost(byte[] bytes) {
        String nodes = new String(bytes, StandardCharsets.UTF_8);
        Optional<String> host = SlurmEnvironment.firstHost(nodes);
        host.ifPresent(
                name -> {
                    assertThat(name).isNotBlank().doesNotContain(",", "[", "]");
                    assertThat(name).doesNotContainAnyWhitespaces();
                    assertThat(SlurmEnvironment.firstHost(name)).contains(name);
                    assertThat(SlurmEnvironment.firstHost(nodes + ",other")).contains(name);
                });
    }
}

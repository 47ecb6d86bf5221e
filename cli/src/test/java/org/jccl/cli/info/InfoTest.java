package org.jccl.cli.info;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

final class InfoTest {

    @Test
    void tellsTheLauncherAndThePlaceItGave() {
        Map<String, String> environment =
                Map.of("RANK", "1", "WORLD_SIZE", "2", "MASTER_ADDR", "here", "MASTER_PORT", "1");
        assertThat(Info.Launcher.detect(environment).place()).isEqualTo("rank 1 of 2");
        assertThat(Info.Launcher.detect(Map.of()).name()).isEqualTo("none");
    }

    @Test
    void tellsWhatIsWrongWithTheEnvironment() {
        Info.Launcher launcher = Info.Launcher.detect(Map.of("RANK", "1"));
        assertThat(launcher.name()).isNotEqualTo("none");
        assertThat(launcher.place()).contains("WORLD_SIZE");
    }
}

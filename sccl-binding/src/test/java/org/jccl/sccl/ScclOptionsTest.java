package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.jccl.Device;
import org.jccl.UsageException;
import org.jccl.ranktable.RankTableException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ScclOptionsTest {

    @TempDir Path folder;

    private Map<String, String> table(String devices) throws Exception {
        Path file = folder.resolve("table.json");
        Files.writeString(file, "{\"version\":\"1.0\",\"node_list\":[" + devices + "]}");
        return Map.of("RANK_TABLE_FILE", file.toString(), "CHIP_MAP", "9,8");
    }

    private static String node(String... devices) {
        return "{\"device_list\":[" + String.join(",", devices) + "]}";
    }

    private static String device(int id, int rank) {
        return "{\"device_id\":\"" + id + "\",\"rank\":\"" + rank + "\"}";
    }

    @Test
    void theRankTableGoesBeforeTheChipMap() throws Exception {
        ScclOptions options = ScclOptions.from(table(node(device(5, 1), device(3, 0))));
        assertThat(options.chipMap()).containsExactly(3, 5);
        assertThat(options.device(1)).isEqualTo(new Device("tpu", 5));
    }

    @Test
    void aTableOfSeveralNodesIsRefused() throws Exception {
        Map<String, String> environment = table(node(device(0, 0)) + "," + node(device(0, 1)));
        assertThatThrownBy(() -> ScclOptions.from(environment))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("2 nodes")
                .hasMessageContaining("one host");
    }

    @Test
    void aTableThatCanNotBeReadIsNamed() {
        assertThatThrownBy(() -> ScclOptions.from(Map.of("RANK_TABLE_FILE", "/nowhere/t.json")))
                .isInstanceOf(RankTableException.class)
                .hasMessageContaining("/nowhere/t.json");
    }

    @Test
    void theChipMapIsAListOfNumbers() {
        assertThat(ScclOptions.from(Map.of("CHIP_MAP", "7, 6,2,3")).chipMap())
                .containsExactly(7, 6, 2, 3);
        assertThat(ScclOptions.from(Map.of()).chipMap()).isEmpty();
        assertThat(ScclOptions.from(Map.of("CHIP_MAP", " ")).chipMap()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"a", "0,", "0,,1", "0 1", "0,0", "-1,0"})
    void otherChipMapsAreRefused(String map) {
        assertThatThrownBy(() -> ScclOptions.from(Map.of("CHIP_MAP", map)))
                .isInstanceOf(UsageException.class);
    }

    @Test
    void aRankWithoutTpuIsRefused() {
        assertThatThrownBy(() -> ScclOptions.ofChips(0, 1).device(2))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("no rank 2");
        assertThatThrownBy(() -> ScclOptions.defaults().device(0))
                .hasMessageContaining("RANK_TABLE_FILE");
    }
}

package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jccl.BootstrapException;
import org.jccl.bootstrap.ClusterEnvironment;
import org.jccl.bootstrap.Membership;
import org.junit.jupiter.api.io.TempDir;

/**
 * Any variables name this process's place for each launcher, or are explained. The input has lines
 * {@code NAME=value}; for the file of the rank table the value is its content.
 */
class ClusterEnvironmentFuzzTest {

    private static final int MAX_PORT = 65535;

    private static final ClusterEnvironment PLAIN =
            ClusterEnvironment.known().get(ClusterEnvironment.known().size() - 1);

    @TempDir private static Path folder;

    @FuzzTest
    void readsOrExplains(byte[] bytes) throws IOException {
        Map<String, String> environment = variables(new String(bytes, StandardCharsets.UTF_8));
        for (ClusterEnvironment launcher : ClusterEnvironment.known()) {
            launcher.detect(environment);
            try {
                check(launcher.read(environment), environment);
            } catch (BootstrapException refused) {
                assertThat(refused).hasMessageContaining(launcher.name());
            }
        }
    }

    private static Map<String, String> variables(String text) throws IOException {
        Map<String, String> variables = new HashMap<>();
        for (String line : text.split("\n")) {
            String[] parts = line.split("=", 2);
            if (parts.length == 2) {
                variables.put(parts[0], parts[1]);
            }
        }
        String table = variables.get(RankTable.VARIABLE);
        if (table != null) {
            Path file = Files.writeString(folder.resolve("table"), table);
            variables.put(RankTable.VARIABLE, file.toString());
        }
        return variables;
    }

    private static void check(Membership place, Map<String, String> environment) {
        assertThat(place.rank()).isBetween(0, place.worldSize() - 1);
        assertThat(place.localWorldSize()).isNotZero().isBetween(-1, place.worldSize());
        assertThat(place.localRank()).isGreaterThanOrEqualTo(-1);
        if (place.localWorldSize() >= 0) {
            assertThat(place.localRank()).isLessThan(place.localWorldSize());
        }
        place.masterAddress().ifPresent(address -> assertThat(address).isNotBlank());
        place.masterPort().ifPresent(port -> assertThat(port).isBetween(0, MAX_PORT));
        assertThat(place.restarts()).isNotNegative();
        mustBe(place.rank(), environment.get("RANK"));
        mustBe(place.worldSize(), environment.get("WORLD_SIZE"));
        if (place.source().equals("Slurm") && place.localWorldSize() >= 0) {
            assertThat(environment.get("SLURM_GTIDS")).contains(String.valueOf(place.rank()));
        }
        checkWrittenAgain(place);
    }

    /** What the variables of all launchers say is not overruled without a word. */
    private static void mustBe(int value, String variable) {
        if (variable != null && !variable.isBlank()) {
            assertThat(Integer.parseInt(variable.strip())).isEqualTo(value);
        }
    }

    private static void checkWrittenAgain(Membership place) {
        if (place.masterAddress().isEmpty() || place.masterPort().isEmpty()) {
            return;
        }
        Map<String, String> plain = new HashMap<>();
        plain.put("RANK", String.valueOf(place.rank()));
        plain.put("WORLD_SIZE", String.valueOf(place.worldSize()));
        if (place.localRank() >= 0) {
            plain.put("LOCAL_RANK", String.valueOf(place.localRank()));
        }
        if (place.localWorldSize() >= 0) {
            plain.put("LOCAL_WORLD_SIZE", String.valueOf(place.localWorldSize()));
        }
        plain.put("MASTER_ADDR", place.masterAddress().get());
        plain.put("MASTER_PORT", String.valueOf(place.masterPort().get()));
        Membership again = PLAIN.read(plain);
        assertThat(again)
                .isEqualTo(
                        new Membership(
                                again.source(),
                                place.rank(),
                                place.worldSize(),
                                place.localRank(),
                                place.localWorldSize(),
                                place.masterAddress(),
                                place.masterPort(),
                                false,
                                0));
    }
}

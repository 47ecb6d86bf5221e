package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.bootstrap.ClusterEnvironment;
import org.jccl.bootstrap.Membership;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The launchers that come with rank tables, which may say what their variables do not. */
class ClusterEnvironmentTest {

    private static Membership read(Map<String, String> environment) {
        return ClusterEnvironment.readFirst(environment);
    }

    private static Map<String, String> with(Map<String, String> base, String... pairs) {
        Map<String, String> all = new HashMap<>(base);
        for (int i = 0; i < pairs.length; i += 2) {
            all.put(pairs[i], pairs[i + 1]);
        }
        return all;
    }

    private static Map<String, String> without(Map<String, String> base, String name) {
        Map<String, String> rest = new HashMap<>(base);
        rest.remove(name);
        return rest;
    }

    @Test
    void theyComeAfterOtherLaunchersAndBeforePlainVariables() {
        assertThat(ClusterEnvironment.known())
                .extracting(ClusterEnvironment::name)
                .containsExactly(
                        "jccl run",
                        "torchrun",
                        "Open MPI",
                        "MPICH (Hydra)",
                        "MVAPICH",
                        "LSF (jsrun)",
                        "Flux",
                        "Slurm",
                        "Cray PALS",
                        "Kubeflow",
                        "Ascend",
                        "Sophgo",
                        "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT");
    }

    /**
     * The second of two pods with two devices each: {@code setPytorchEnv} and {@code setCommonEnv}
     * in {@code component/ascend-operator/pkg/controllers/v1/env.go} of Ascend's mind-cluster.
     */
    private static final Map<String, String> ASCEND_POD =
            Map.of(
                    "KUBERNETES_SERVICE_HOST", "10.96.0.1",
                    "MINDX_TASK_ID", "0c7d3a5e",
                    "LOCAL_WORLD_SIZE", "2",
                    "WORLD_SIZE", "4",
                    "LOCAL_RANK", "0,1",
                    "MASTER_ADDR", "10.107.3.4",
                    "MASTER_PORT", "2222",
                    "RANK", "1");

    @Test
    void ascendsOperatorNeedsALauncherInPodsWithSeveralDevices() {
        assertThatThrownBy(() -> read(ASCEND_POD))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("LOCAL_RANK=0,1 gives this pod several devices")
                .hasMessageContaining("jccl run");
        assertThatThrownBy(() -> read(without(ASCEND_POD, "MINDX_TASK_ID")))
                .hasMessageContaining("several devices");
        assertThatThrownBy(() -> read(with(ASCEND_POD, "LOCAL_RANK", "0")))
                .hasMessageContaining("several devices");
    }

    @Test
    void ascendsOperatorWithOneDeviceAPod() {
        Membership place =
                read(
                        with(
                                ASCEND_POD,
                                "LOCAL_RANK",
                                "0",
                                "LOCAL_WORLD_SIZE",
                                "1",
                                "WORLD_SIZE",
                                "2"));
        assertThat(place)
                .isEqualTo(
                        new Membership(
                                "Ascend",
                                1,
                                2,
                                0,
                                1,
                                Optional.of("10.107.3.4"),
                                Optional.of(2222),
                                false,
                                0));
    }

    /** Its ranks are the launcher's, whatever else the pod has. */
    @Test
    void jcclRunInAPodKnowsBetter() {
        Map<String, String> rank =
                with(with(ASCEND_POD, "JCCL_RUN_ID", "none"), "RANK", "3", "LOCAL_RANK", "1");
        assertThat(read(rank).source()).isEqualTo("jccl run");
        assertThat(read(rank).rank()).isEqualTo(3);
    }

    @Test
    void ascend() {
        Map<String, String> ascend = Map.of("RANK_ID", "6", "RANK_SIZE", "8", "DEVICE_ID", "2");
        Membership place = read(with(ascend, "MASTER_ADDR", "h", "MASTER_PORT", "7"));
        assertThat(place.source()).isEqualTo("Ascend");
        assertThat(place.rank()).isEqualTo(6);
        assertThat(place.worldSize()).isEqualTo(8);
        assertThat(place.localRank()).isEqualTo(2);
        assertThat(place.masterAddress()).contains("h");
        assertThatThrownBy(() -> read(without(ascend, "RANK_ID")))
                .hasMessageContaining("RANK_ID is not set")
                .hasMessageContaining("RANK_SIZE=8");
    }

    @Test
    void sophgo() {
        Map<String, String> sophgo =
                Map.of("RANK", "1", "WORLD_SIZE", "2", "LOCAL_RANK", "1", "CHIP_MAP", "0,4");
        Membership place = read(sophgo);
        assertThat(place.source()).isEqualTo("Sophgo");
        assertThat(place.localRank()).isEqualTo(1);
        assertThatThrownBy(() -> read(with(sophgo, "CHIP_MAP", "0")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("CHIP_MAP names 1 chips, none for LOCAL_RANK=1")
                .hasMessageContaining("CHIP_MAP=0");
    }

    /** Rank 2 is the first one of the second node, though its device is 5. */
    private static final String RANK_TABLE =
            """
            {"version": "1.0", "status": "completed", "server_list": [
              {"server_id": "10.0.0.1", "device": [
                {"device_id": "4", "device_ip": "10.1.0.1", "rank_id": "0"},
                {"device_id": "5", "device_ip": "10.1.0.2", "rank_id": "1"}]},
              {"server_id": "10.0.0.2", "device": [
                {"device_id": "5", "device_ip": "10.1.0.3", "rank_id": "2"},
                {"device_id": "4", "device_ip": "10.1.0.4", "rank_id": "3"}]}]}
            """;

    @Test
    void ascendWithARankTable(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("hccl.json"), RANK_TABLE);
        Map<String, String> ascend =
                Map.of("RANK_ID", "2", "DEVICE_ID", "5", "RANK_TABLE_FILE", file.toString());
        Membership place = read(ascend);
        assertThat(place.rank()).isEqualTo(2);
        assertThat(place.worldSize()).isEqualTo(4);
        assertThat(place.localRank()).isZero();
        assertThat(place.localWorldSize()).isEqualTo(2);
        assertThat(read(with(ascend, "RANK_SIZE", "4")).worldSize()).isEqualTo(4);
        assertThatThrownBy(() -> read(with(ascend, "RANK_SIZE", "8")))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining(
                        "RANK_SIZE=8 contradicts RANK_TABLE_FILE, which gives 4: unset the one"
                                + " that is wrong");
        assertThatThrownBy(() -> read(with(ascend, "RANK_ID", "4")))
                .hasMessageContaining("rank 4 must be less than world size 4");
    }

    @Test
    void aRankTableThatIsNotValidIsExplained(@TempDir Path folder) throws IOException {
        Path file =
                Files.writeString(
                        folder.resolve("hccl.json"), RANK_TABLE.replace("completed", "begun"));
        Map<String, String> ascend = Map.of("RANK_ID", "2", "RANK_TABLE_FILE", file.toString());
        assertThatThrownBy(() -> read(ascend))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("$.status (line 1, column 30) is \"begun\"")
                .hasMessageContaining("RANK_TABLE_FILE=" + file);
    }

    @Test
    void sophgoFillsWhatIsNotSetFromARankTable(@TempDir Path folder) throws IOException {
        Path file =
                Files.writeString(
                        folder.resolve("table"),
                        """
                        {"version": "1.0", "node_list": [{"device_list": [
                          {"device_id": 4, "rank": "1"}, {"device_id": 0, "rank": "0"}]}]}
                        """);
        Map<String, String> sophgo =
                Map.of("RANK", "1", "CHIP_MAP", "0,4", "RANK_TABLE_FILE", file.toString());
        Membership place = read(sophgo);
        assertThat(place.worldSize()).isEqualTo(2);
        assertThat(place.localRank()).isZero();
        assertThat(read(with(sophgo, "LOCAL_RANK", "1")).localRank()).isEqualTo(1);
        assertThatThrownBy(() -> read(without(sophgo, "RANK_TABLE_FILE")))
                .hasMessageContaining("WORLD_SIZE is not set")
                .hasMessageContaining("LOCAL_RANK is not set");
    }
}

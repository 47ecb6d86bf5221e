package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.JcclException;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class RankTableTest {

    static List<Path> examples() {
        return Examples.files();
    }

    private static RankTable example(String name) {
        return RankTable.read(Examples.file(name));
    }

    @ParameterizedTest
    @CsvSource({
        "sccl-template.json, SCCL_1_0, 2, 1",
        "sccl-1.0.json, SCCL_1_0, 8, 1",
        "sccl-1.0-text-ids.json, SCCL_1_0, 4, 2",
        "sccl-emulator.json, SCCL_1_0, 2, 1",
        "sccl-server-list.json, SCCL_SERVER_LIST, 2, 1",
        "hccl-1.0.json, HCCL_1_0, 4, 2",
        "hccl-1.2.json, HCCL_1_2, 4, 2",
        "hccl-2.0.json, HCCL_2_0, 4, 2",
        "hccl-2.0-eid.json, HCCL_2_0, 2, 1",
        "hccl-group-list.json, HCCL_GROUP_LIST, 2, 2",
        "hccl-group-list-lab.json, HCCL_GROUP_LIST, 2, 1"
    })
    void findsOutTheFormat(String file, RankTableFormat format, int ranks, int nodes) {
        RankTable table = example(file);
        assertThat(table.format()).isEqualTo(format);
        assertThat(table.size()).isEqualTo(ranks);
        assertThat(table.nodeCount()).isEqualTo(nodes);
    }

    /** As Volcano and Ascend's operator mount it, and complete it when all pods have devices. */
    @Test
    void aTableThatIsStillBeingMadeIsWaitedFor(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("hccl.json");
        Files.writeString(file, "{\"status\":\"initializing\"}");
        assertThat(RankTable.awaitCompleted(file, Duration.ZERO)).isFalse();
        assertThat(RankTable.awaitCompleted(file, expires(Duration.ofMillis(10)))).isFalse();
        CompletableFuture<Integer> size =
                CompletableFuture.supplyAsync(
                        () -> {
                            RankTable.awaitCompleted(file, enough(Duration.ofMinutes(1)));
                            return RankTable.read(file).size();
                        });
        Thread.sleep(100);
        assertThat(size).isNotDone();
        Files.writeString(file, ""); // then it is written anew
        Files.copy(Examples.file("hccl-1.0.json"), file, StandardCopyOption.REPLACE_EXISTING);
        assertThat(size.get(30, TimeUnit.SECONDS)).isEqualTo(4);
    }

    @Test
    void whateverElseATableIsIsNotWaitedFor(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("hccl.json");
        assertThat(RankTable.awaitCompleted(file, enough(Duration.ofHours(1)))).isTrue();
        Files.writeString(file, "{\"status\":\"failed\"}");
        assertThat(RankTable.awaitCompleted(file, enough(Duration.ofHours(1)))).isTrue();
        assertThatThrownBy(() -> RankTable.awaitCompleted(null, Duration.ZERO))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> RankTable.awaitCompleted(file, Duration.ofSeconds(-1)))
                .isInstanceOf(UsageException.class);
    }

    @Test
    void noExampleIsForgotten() {
        assertThat(examples()).hasSize(11);
    }

    @ParameterizedTest
    @MethodSource("examples")
    void isWrittenAsItWasRead(Path file) {
        RankTable table = RankTable.read(file);
        RankTable again = RankTable.parse(table.toJson());
        assertThat(again).isEqualTo(table).hasSameHashCodeAs(table);
        assertThat(again.toJson()).isEqualTo(table.toJson());
    }

    @Test
    void whatTheToolWroteIsWrittenByteForByte() {
        for (String file : List.of("sccl-1.0.json", "sccl-1.0-text-ids.json")) {
            assertThat(example(file).toJson()).isEqualTo(Examples.text(file));
        }
    }

    @Test
    void fieldsThatHaveNoMeaningAreWrittenBack() {
        assertThat(example("sccl-server-list.json").toJson())
                .contains("\"host_nic_ip\":\"reserve\"", "\"server_count\":1,");
    }

    @Test
    void devicesOfRanks() {
        RankTable table = example("sccl-1.0-text-ids.json");
        assertThat(table.device(0)).isEqualTo(3);
        assertThat(table.localRank(3)).isEqualTo(1);
        assertThat(table.node(2)).isEqualTo(1);
        assertThat(table.ranksOf(1)).containsExactly(2, 3);
        assertThat(table.chipMap()).containsExactly(3, 2, 0, 1);
        assertThat(table.chipMap(List.of(1, 0))).containsExactly(2, 3);
        assertThat(table.entry(3))
                .isEqualTo(
                        new RankEntry(
                                3,
                                1,
                                "",
                                1,
                                1,
                                List.of("10.0.0.4"),
                                OptionalLong.empty(),
                                Optional.empty()));
    }

    @Test
    void emulatorsAddressIsTheDevices() {
        assertThat(example("sccl-emulator.json").entry(1).deviceIps()).containsExactly("127.0.0.1");
        assertThat(example("sccl-emulator.json").chipMap()).containsExactly(0, 7);
    }

    @Test
    void superPods() {
        RankEntry entry = example("hccl-1.2.json").entry(3);
        assertThat(entry.nodeId()).isEqualTo("srv-b");
        assertThat(entry.superDevice()).hasValue(4_259_841);
        assertThat(entry.superPod()).contains("pod-0");
    }

    @Test
    void networksOfARankList() {
        RankTable table = example("hccl-2.0.json");
        assertThat(table.entry(3))
                .isEqualTo(
                        new RankEntry(
                                3,
                                1,
                                "rack0-pod1",
                                1,
                                1,
                                List.of("10.4.1.1", "10.5.1.1", "fd00::1:1"),
                                OptionalLong.empty(),
                                Optional.empty()));
        RankTable spare = example("hccl-2.0-eid.json");
        assertThat(spare.device(0)).as("a spare device").isEqualTo(64);
        assertThat(spare.localRank(0)).isZero();
        assertThat(spare.entry(1).deviceIps())
                .containsExactly(
                        "000000000000000000100000dfdf0021",
                        "000000000000000000100000dfdf0029",
                        "10.6.0.1");
    }

    @Test
    void ranksOfAGroupListFollowServersAndDevices() {
        RankTable table =
                RankTable.parse(
                        Examples.text("hccl-group-list.json")
                                .replace("\"10.20.0.11\"", "\"10.20.0.13\""));
        assertThat(table.entry(0).nodeId()).isEqualTo("10.20.0.12");
        assertThat(table.entry(1).nodeId()).isEqualTo("10.20.0.13");
        assertThat(table.node(0)).as("nodes are in the order of the table").isEqualTo(1);
    }

    @Test
    void ranksOfALabGroupListAreGiven() {
        RankTable table = example("hccl-group-list-lab.json");
        assertThat(table.chipMap()).containsExactly(1, 0);
        assertThat(table.localRank(0)).isZero();
    }

    @Test
    void localRankIsThePlaceInTheListUnlessItIsGiven() {
        String table =
                """
                {"version": "1.0", "node_list": [{"device_list": [
                  {"device_id": 5, "rank_id": 1%s}, {"device_id": 4, "world_rank": "0"%s}]}]}
                """;
        RankTable byPlace = RankTable.parse(table.formatted("", ""));
        assertThat(byPlace.localRank(1)).isZero();
        assertThat(byPlace.chipMap()).containsExactly(4, 5);
        RankTable given =
                RankTable.parse(table.formatted(", \"local_rank\": 1", ", \"local_rank\": \"0\""));
        assertThat(given.localRank(1)).isEqualTo(1);
        assertThat(given.ranksOf(0)).containsExactly(0, 1);
    }

    @Test
    void aRankThatIsNotThereIsAUsageError() {
        RankTable table = example("sccl-1.0.json");
        assertThatThrownBy(() -> table.device(8))
                .isInstanceOf(UsageException.class)
                .hasMessage("rank 8 is not in the rank table: it has the ranks 0 to 7");
        assertThatThrownBy(() -> table.localRank(-1)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> table.chipMap(List.of(0, 9))).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> table.ranksOf(1))
                .isInstanceOf(UsageException.class)
                .hasMessage("node 1 is not in the rank table: it has the nodes 0 to 0");
    }

    @Test
    void variableNamesTheFile() {
        String file = Examples.file("hccl-1.0.json").toString();
        assertThat(RankTable.fromEnvironment(Map.of("RANK_TABLE_FILE", file)))
                .hasValueSatisfying(table -> assertThat(table.size()).isEqualTo(4));
        assertThat(RankTable.fromEnvironment(Map.of())).isEmpty();
        assertThat(RankTable.fromEnvironment(Map.of("RANK_TABLE_FILE", " "))).isEmpty();
        assertThatThrownBy(() -> RankTable.fromEnvironment(Map.of("RANK_TABLE_FILE", "/none.json")))
                .isInstanceOfSatisfying(
                        RankTableException.class,
                        e -> {
                            assertThat(e.category()).isEqualTo(JcclException.Category.USAGE);
                            assertThat(e.faults()).isEmpty();
                        })
                .hasMessageStartingWith("rank table /none.json of RANK_TABLE_FILE cannot be read")
                .hasMessageContaining("NoSuchFile");
        assertThatThrownBy(() -> RankTable.fromEnvironment(Map.of("RANK_TABLE_FILE", "a\0b")))
                .isInstanceOf(RankTableException.class);
    }

    @Test
    void tellsItsForm() {
        assertThat(example("hccl-1.2.json")).hasToString("HCCL 1.2, 4 ranks on 2 nodes");
    }
}

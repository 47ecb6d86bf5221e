package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tables of racks, whose hosts share layer 0: the hosts follow from the devices. */
class RackTableTest {

    private final List<String> ranks = new ArrayList<>();

    private void add(String network, int localId, int device) {
        int rank = ranks.size();
        ranks.add(
                """
                {"rank_id": %d, "local_id": %d, "device_id": %d, "level_list": [
                  {"net_layer": 0, "net_instance_id": "%s", "net_type": "CLOS", "rank_addr_list": [
                    {"addr_type": "IPV4", "addr": "10.0.%d.1", "ports": ["0/1"]}]}]}
                """
                        .formatted(rank, localId, device, network, rank));
    }

    private String json() {
        return "{\"version\": \"2.0\", \"rank_count\": %d, \"rank_list\": [%s]}"
                .formatted(ranks.size(), String.join(",", ranks));
    }

    private RankTable table() {
        return RankTable.parse(json());
    }

    @Test
    void hostsOfARackAreNodes() {
        IntStream.range(0, 16).forEach(i -> add("rack", i, i % 8));
        RankTable table = table();
        assertThat(table).hasToString("HCCL 2.0, 16 ranks on 2 nodes");
        assertThat(table.ranksOf(1)).containsExactly(8, 9, 10, 11, 12, 13, 14, 15);
        assertThat(table.entry(11).localRank()).isEqualTo(3);
        assertThat(table.entry(11).nodeId()).isEqualTo("rack/1");
        assertThat(table.device(11)).isEqualTo(3);
        assertThat(RankTable.parse(table.toJson())).isEqualTo(table);
    }

    /** A job that has some devices of some hosts, and whose ranks go through the hosts in turn. */
    @Test
    void hostsNeedNotBeWholeNorInOrder() {
        add("a", 24, 0);
        add("a", 9, 1);
        add("b", 8, 0);
        add("a", 25, 1);
        add("a", 12, 4);
        RankTable table = table();
        assertThat(table.nodeCount()).isEqualTo(3);
        assertThat(table.ranksOf(0)).containsExactly(1, 4);
        assertThat(table.ranksOf(1)).containsExactly(0, 3);
        assertThat(table.entry(2).nodeId()).isEqualTo("b");
        assertThat(table.entry(4).localRank()).isEqualTo(1);
    }

    @Test
    void devicesMayHaveAnotherOrderThanTheRack() {
        int[] order = {3, 1, 0, 2};
        IntStream.range(0, 8).forEach(i -> add("rack", i, order[i % 4]));
        assertThat(table().ranksOf(0)).containsExactly(0, 1, 2, 3);
        assertThat(table().ranksOf(1)).containsExactly(4, 5, 6, 7);
    }

    /** Also with numbers of another order. */
    @Test
    void devicesWithNumbersOfTheirOwnAreOneHost() {
        add("host", 0, 7);
        add("host", 1, 6);
        assertThat(table().nodeCount()).isEqualTo(1);
        assertThat(table().entry(0).nodeId()).isEqualTo("host");
    }

    @Test
    void aLocalIdAppearsOnceInARack() {
        add("rack", 0, 0);
        add("rack", 8, 0);
        add("rack", 8, 1);
        add("other", 8, 1);
        RankTableException refused =
                catchThrowableOfType(RankTableException.class, () -> RankTable.parse(json()));
        assertThat(refused.faults())
                .singleElement()
                .asString()
                .contains("$.rank_list[2].local_id", "each may appear once");
    }
}

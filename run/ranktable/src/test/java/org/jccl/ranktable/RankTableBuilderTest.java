package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

class RankTableBuilderTest {

    @Test
    void makesWhatTheToolMakes() {
        RankTableBuilder one = RankTable.builder(RankTableFormat.SCCL_1_0).node("");
        for (int device = 0; device < 8; device++) {
            one.device(device, "127.0.0.1");
        }
        assertThat(one.build().toJson()).isEqualTo(Examples.text("sccl-1.0.json"));
        RankTable two =
                RankTable.builder(RankTableFormat.SCCL_1_0)
                        .textDeviceIds(true)
                        .node("")
                        .device(3, "10.0.0.1")
                        .device(2, "10.0.0.2")
                        .node("")
                        .device(0, "10.0.0.3")
                        .device(1, "10.0.0.4")
                        .build();
        assertThat(two.toJson()).isEqualTo(Examples.text("sccl-1.0-text-ids.json"));
        RankTable emulator =
                RankTable.builder(RankTableFormat.SCCL_1_0)
                        .emulator(true)
                        .textDeviceIds(true)
                        .node("")
                        .device(0, "127.0.0.1")
                        .device(7, "127.0.0.1")
                        .build();
        assertThat(emulator.toJson() + "\n").isEqualTo(Examples.text("sccl-emulator.json"));
    }

    private static String compact(String json) {
        return json.replaceAll("\\s", "");
    }

    @Test
    void makesTheVendorsExamples() {
        RankTable plain =
                RankTable.builder(RankTableFormat.HCCL_1_0)
                        .node("10.20.0.11")
                        .device(0, "192.168.40.10")
                        .device(1, "192.168.41.10")
                        .node("10.20.0.12")
                        .device(0, "192.168.40.20")
                        .device(1, "192.168.41.20")
                        .build();
        assertThat(compact(plain.toJson())).isEqualTo(compact(Examples.text("hccl-1.0.json")));
        RankTable pods =
                RankTable.builder(RankTableFormat.HCCL_1_2)
                        .superPod("pod-0")
                        .node("srv-a")
                        .superDevice(0, 0, "192.168.40.10")
                        .superDevice(1, 65_537, "192.168.40.11")
                        .node("srv-b")
                        .superDevice(0, 4_194_304, "192.168.40.20")
                        .superDevice(1, 4_259_841, "192.168.40.21")
                        .build();
        assertThat(compact(pods.toJson())).isEqualTo(compact(Examples.text("hccl-1.2.json")));
    }

    @Test
    void checksWhatItMakes() {
        assertThatThrownBy(
                        () ->
                                RankTable.builder(RankTableFormat.HCCL_1_0)
                                        .node("a")
                                        .device(1)
                                        .device(1)
                                        .node("a")
                                        .device(-2)
                                        .build())
                .isInstanceOf(RankTableException.class)
                .hasMessageStartingWith("rank table to be written has")
                .hasMessageContaining("$.server_list[0].device[1].device_id is \"1\", as is")
                .hasMessageContaining("$.server_list[1].device[0].device_id is \"-2\": give")
                .hasMessageContaining("$.server_list[1].server_id is \"a\", as is");
        assertThatThrownBy(() -> RankTable.builder(RankTableFormat.SCCL_1_0).node("a").build())
                .isInstanceOf(RankTableException.class)
                .hasMessageContaining("$.node_list[0].device_list is an empty array");
    }

    @Test
    void saysWhatIsWrongWithTheCall() {
        assertThatThrownBy(() -> RankTable.builder(RankTableFormat.HCCL_GROUP_LIST))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("HCCL group_list is an old form");
        assertThatThrownBy(() -> RankTable.builder(RankTableFormat.SCCL_1_0).device(0))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("call node first");
        RankTableBuilder sccl = RankTable.builder(RankTableFormat.SCCL_1_0).node("");
        assertThatThrownBy(() -> sccl.device(0, "10.0.0.1", "10.0.0.2"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("2 addresses, but SCCL takes one");
        assertThatThrownBy(() -> sccl.superPod("p"))
                .hasMessage("SCCL 1.0 has no super pods: only HCCL 1.2 has");
        RankTableBuilder hccl = RankTable.builder(RankTableFormat.HCCL_1_0).node("a");
        assertThatThrownBy(() -> hccl.superDevice(0, 7)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> hccl.emulator(true)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> hccl.textDeviceIds(true)).isInstanceOf(UsageException.class);
    }

    @Test
    void oldFormsBecomeNewOnes() {
        RankTable old = RankTable.read(Examples.file("hccl-group-list.json"));
        RankTable table = old.convertTo(RankTableFormat.HCCL_1_0);
        assertThat(table.entries()).isEqualTo(old.entries());
        assertThat(table.toJson()).contains("\"server_count\":\"2\"", "\"rank_id\":\"1\"");
        RankTable sccl =
                RankTable.read(Examples.file("sccl-server-list.json"))
                        .convertTo(RankTableFormat.SCCL_1_0);
        assertThat(sccl.chipMap()).containsExactly(3, 2);
        assertThat(sccl.convertTo(RankTableFormat.SCCL_1_0)).isSameAs(sccl);
    }

    @Test
    void aFormThatNeedsMoreIsRefused() {
        RankTable nameless = RankTable.read(Examples.file("sccl-template.json"));
        assertThatThrownBy(() -> nameless.convertTo(RankTableFormat.HCCL_1_0))
                .isInstanceOf(RankTableException.class)
                .hasMessageContaining("$.server_list[0].server_id is \"\"");
        assertThatThrownBy(() -> nameless.convertTo(RankTableFormat.SCCL_SERVER_LIST))
                .isInstanceOf(UsageException.class);
    }

    @Test
    void ranksWithAddressesInLayers() {
        RankTable table =
                RankTable.builder(RankTableFormat.HCCL_2_0)
                        .node("pod0")
                        .device(3)
                        .address(0, "pod0", "0", "10.4.0.3", "1/0")
                        .address(1, "az0", "plane0", "fd00::3", "0/4", "0/5")
                        .node("pod1")
                        .device(3)
                        .address(0, "pod1", "0", "10.4.1.3", "1/0")
                        .address(1, "az0", "plane0", "fd00::13", "0/4", "0/5")
                        .build();
        assertThat(table).hasToString("HCCL 2.0, 2 ranks on 2 nodes");
        assertThat(table.entry(1).nodeId()).isEqualTo("pod1");
        assertThat(table.entry(1).deviceIps()).containsExactly("10.4.1.3", "fd00::13");
        assertThat(table.toJson().replaceAll("\\s", ""))
                .contains(
                        "{\"rank_id\":0,\"local_id\":3,\"device_id\":3,\"level_list\":["
                                + "{\"net_layer\":0,\"net_instance_id\":\"pod0\","
                                + "\"net_type\":\"TOPO_FILE_DESC\",\"rank_addr_list\":["
                                + "{\"addr_type\":\"IPV4\",\"addr\":\"10.4.0.3\","
                                + "\"ports\":[\"1/0\"],\"plane_id\":\"0\"}]},"
                                + "{\"net_layer\":1,\"net_instance_id\":\"az0\","
                                + "\"net_type\":\"CLOS\",\"rank_addr_list\":["
                                + "{\"addr_type\":\"IPV6\",\"addr\":\"fd00::3\","
                                + "\"ports\":[\"0/4\",\"0/5\"],\"plane_id\":\"plane0\"}]}]}");
    }

    @Test
    void whatDoesNotFitLayersIsRefused() {
        RankTableBuilder table = RankTable.builder(RankTableFormat.HCCL_2_0).node("pod0");
        assertThatThrownBy(() -> table.address(0, "pod0", "0", "10.0.0.1", "0/0"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("call device first");
        assertThatThrownBy(() -> table.device(0, "10.0.0.1"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("call address");
        table.device(0);
        assertThatThrownBy(() -> table.address(0, "pod1", "0", "10.0.0.1", "0/0"))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("is in network pod0 of layer 0");
        assertThatThrownBy(() -> table.address(0, "pod0", "0", "host", "0/0"))
                .isInstanceOf(UsageException.class)
                .hasMessage("host is not an EID, IPv4 or IPv6 address");
        assertThatThrownBy(table::build)
                .isInstanceOf(RankTableException.class)
                .hasMessageContaining("$.rank_list[0].level_list is an empty array");
        RankTableBuilder old = RankTable.builder(RankTableFormat.HCCL_1_0).node("a").device(0);
        assertThatThrownBy(() -> old.address(0, "a", "0", "10.0.0.1", "0/0"))
                .isInstanceOf(UsageException.class)
                .hasMessage("HCCL 1.0 has no layers of networks: only HCCL 2.0 has");
        RankTable one = old.build();
        assertThatThrownBy(() -> one.convertTo(RankTableFormat.HCCL_2_0))
                .isInstanceOf(RankTableException.class)
                .hasMessageContaining("$.rank_list[0].level_list is an empty array");
    }
}

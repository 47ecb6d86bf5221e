package org.jccl.ranktable;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is said about tables that are not valid: all of it, each with its path. */
class RankTableFaultsTest {

    private static final String SCCL = "{\"version\": \"1.0\", \"node_list\": [%s]}";

    private static final String HCCL =
            "{\"version\": \"1.0\", \"status\": \"completed\", \"server_list\": [%s]}";

    private static final String SUPER =
            """
            {"version": "1.2", "status": "completed", "server_list": [
              {"server_id": "a", "device": [
                {"device_id": "0", "super_device_id": "7", "rank_id": "0"}]},
              {"server_id": "b", "device": [
                {"device_id": "0", "super_device_id": "8", "rank_id": "1"}]}],
             "super_pod_list": [%s]}
            """;

    private static final String NETWORK =
            "{\"net_layer\": 0, \"net_instance_id\": \"pod\", \"rank_addr_list\": [%s]}";

    private static final String ADDRESS =
            "{\"addr_type\": \"IPV4\", \"addr\": \"10.0.0.%d\", \"ports\": [\"0/%d\"]}";

    private static RankTableException refuse(String json) {
        return catchThrowableOfType(RankTableException.class, () -> RankTable.parse(json));
    }

    private static List<String> faults(String json) {
        RankTableException refused = refuse(json);
        assertThat(refused).as("of %s", json).isNotNull();
        return refused.faults().stream()
                .map(fault -> fault.path() + " " + fault.message())
                .toList();
    }

    private static List<String> warnings(String json) {
        return RankTable.parse(json).warnings().stream()
                .map(fault -> fault.path() + " " + fault.message())
                .toList();
    }

    private static List<String> sccl(String... nodes) {
        return faults(SCCL.formatted(String.join(",", nodes)));
    }

    private static List<String> hccl(String... servers) {
        return faults(HCCL.formatted(String.join(",", servers)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "[]   | $ is not a rank table: a node_list, a server_list, a rank_list or a"
                        + " group_list is missing",
                "{}   | $ is not a rank table: a node_list, a server_list, a rank_list or a"
                        + " group_list is missing",
                "null | $ is not a rank table: a node_list, a server_list, a rank_list or a"
                        + " group_list is missing",
                "{\"version\":\"2.0\",\"rank_count\":0,\"rank_list\":[]}"
                        + "| $.rank_list is an empty array: give an array with at least one object",
                "{\"version\":\"1.0\",\"node_list\":[]}"
                        + "| $.node_list is an empty array: give an array with at least one object",
                "{\"version\":\"1.0\",\"node_list\":7}"
                        + "| $.node_list is the number 7: give an array with at least one object",
                "x | $ is not JSON: Unrecognized token 'x': was expecting (JSON String, Number,"
                        + " Array, Object or token 'null', 'true' or 'false')",
            })
    void isNoTable(String json, String fault) {
        assertThat(faults(json)).containsExactly(fault);
    }

    /** A table of one rank for each text of fields, with one address each. */
    private static String rankList(String... ranks) {
        StringBuilder list = new StringBuilder();
        for (int i = 0; i < ranks.length; i++) {
            String level = NETWORK.formatted(ADDRESS.formatted(i, i));
            list.append(i == 0 ? "{" : ",{").append(ranks[i]);
            list.append(ranks[i].contains("level_list") ? "" : ",\"level_list\": [" + level + "]");
            list.append('}');
        }
        return "{\"version\": \"2.0\", \"rank_count\": %d, \"rank_list\": [%s]}"
                .formatted(ranks.length, list);
    }

    private static String levels(String... levels) {
        return "\"rank_id\": 0, \"local_id\": 0, \"device_id\": 0, \"level_list\": ["
                + String.join(",", levels)
                + "]";
    }

    @Test
    void faultsOfTheRanksOfARankList() {
        assertThat(RankTable.parse(rankList("\"rank_id\": 0, \"local_id\": 0, \"device_id\": 0")))
                .isNotNull();
        assertThat(
                        faults(
                                rankList(
                                                "\"rank_id\": 0, \"local_id\": 0, \"device_id\": 0",
                                                "\"rank_id\": 2, \"local_id\": 0, \"device_id\": 0",
                                                "\"rank_id\": \"1\", \"device_id\": 65",
                                                "\"rank_id\": 3, \"local_id\": 64, \"device_id\": 3,"
                                                        + " \"device_port\": 0, \"host_port\": 65536")
                                        .replace("\"rank_count\": 4", "\"rank_count\": 5")
                                        .replace(
                                                "\"version\": \"2.0\"",
                                                "\"version\": \"1.0\", \"status\": \"initializing\"")))
                .containsExactlyInAnyOrder(
                        "$.version is \"1.0\": write \"2.0\"",
                        "$.rank_count is 5, but there are 4 ranks in $.rank_list",
                        "$.rank_list[1].local_id is the number 0, as is $.rank_list[0].local_id: each"
                                + " may appear once",
                        "$.rank_list[2].rank_id is \"1\": HCCL reads a number only, write 1",
                        "$.rank_list[2].device_id is the number 65: give a whole number from 0 to 64",
                        "$.rank_list[2].local_id is missing: number of the device on its server",
                        "$.rank_list[3].replaced_local_id is missing: the local_id of the device"
                                + " that it replaces",
                        "$.rank_list[3].device_port is 0: ports begin at 1",
                        "$.rank_list[3].host_port is the number 65536: give a whole number from 0 to"
                                + " 65535");
    }

    /** As a deployment guide has them, and generators that write numbers. */
    @Test
    void blanksAndNumbersThatHcclRefuses() {
        String device = "{\"device_id\": \"0\", \"rank_id\": \"0\", \"device_ip\": \"%s\"}";
        String server = "{\"server_id\": \"h\", \"device\": [" + device + "]}";
        assertThat(RankTable.parse(HCCL.formatted(server.formatted("")))).isNotNull();
        for (String blank : List.of(" ", "\\t")) {
            assertThat(hccl(server.formatted(blank)))
                    .singleElement()
                    .asString()
                    .startsWith("$.server_list[0].device[0].device_ip is \"")
                    .endsWith(
                            ", which HCCL refuses: leave it out on one server, or give the address");
        }
        String whole = HCCL.formatted(server.formatted("10.0.0.1"));
        assertThat(faults(whole.replace("\"1.0\"", "1.0")))
                .containsExactly(
                        "$.version is the number 1.0: HCCL reads text only, write \"1.0\"");
        assertThat(faults(whole.replace("\"1.0\"", "1")))
                .containsExactly("$.version is the number 1: HCCL reads text only, write \"1.0\"");
        String superDevice = "\"rank_id\": \"0\", \"super_device_id\": \"\"";
        assertThat(RankTable.parse(whole.replace("\"rank_id\": \"0\"", superDevice)).size())
                .isEqualTo(1);
        assertThat(
                        faults(
                                SUPER.formatted(
                                                "{\"super_pod_id\": \"p\", \"server_list\": ["
                                                        + "{\"server_id\": \"a\"},"
                                                        + "{\"server_id\": \"b\"}]}")
                                        .replace("\"7\"", "\"\"")))
                .containsExactly(
                        "$.server_list[0].device[0].super_device_id is empty: give the number of the"
                                + " device");
        assertThat(faults(whole.replace("\"1.0\"", "1.2")))
                .containsExactly(
                        "$.version is the number 1.2: HCCL reads text only, write \"1.2\"");
        assertThat(faults(whole.replace("\"h\"", "17")))
                .containsExactly(
                        "$.server_list[0].server_id is the number 17: write it in quotes, \"17\"");
        assertThat(
                        faults(
                                rankList("\"rank_id\": 0, \"local_id\": 0, \"device_id\": 0")
                                        .replace("\"2.0\"", "2.0")))
                .containsExactly("$.version is the number 2.0: write it in quotes, \"2.0\"");
    }

    @Test
    void faultsOfTheLayersOfARankList() {
        assertThat(
                        faults(
                                rankList(
                                        levels(
                                                "{\"net_layer\": 1, \"net_instance_id\": \"a\","
                                                        + " \"rank_addr_list\": []}",
                                                "{\"net_layer\": 1, \"net_instance_id\": \"\","
                                                        + " \"rank_addr_list\": {}}",
                                                "{\"net_layer\": 8, \"net_instance_id\": \"c\"}"))))
                .containsExactlyInAnyOrder(
                        "$.rank_list[0].level_list[1].net_layer is 1 after 1: layers must be in"
                                + " ascending order",
                        "$.rank_list[0].level_list[1].net_instance_id is \"\": give a text that is not"
                                + " empty",
                        "$.rank_list[0].level_list[1].rank_addr_list is an object: give an array of"
                                + " addresses",
                        "$.rank_list[0].level_list[2].net_layer is the number 8: give a whole number"
                                + " from 0 to 7",
                        "$.rank_list[0].level_list[2].rank_addr_list is missing: addresses of the"
                                + " rank in this layer");
        assertThat(
                        faults(
                                rankList(
                                        "\"rank_id\": 0, \"local_id\": 0, \"device_id\": 0",
                                        "\"rank_id\": 1, \"local_id\": 1, \"device_id\": 1,"
                                                + " \"level_list\": ["
                                                + NETWORK.formatted("")
                                                + "]")))
                .containsExactly(
                        "$.rank_list[1].level_list[0].rank_addr_list has 0 addresses, but"
                                + " $.rank_list[0].level_list[0].rank_addr_list of the same network"
                                + " has 1");
    }

    @Test
    void faultsOfTheAddressesOfARankList() {
        String place = "$.rank_list[0].level_list[0].rank_addr_list";
        assertThat(
                        faults(
                                rankList(
                                        levels(
                                                NETWORK.formatted(
                                                        String.join(
                                                                ",",
                                                                ADDRESS.formatted(1, 1),
                                                                ADDRESS.formatted(2, 1),
                                                                ADDRESS.formatted(256, 2),
                                                                ADDRESS.formatted(3, 3)
                                                                        .replace("IPV4", "IPv4"),
                                                                ADDRESS.formatted(4, 4)
                                                                        .replace("IPV4", "EID"),
                                                                ADDRESS.formatted(5, 5)
                                                                        .replace("[\"0/5\"]", "[]"),
                                                                "7"))))))
                .containsExactlyInAnyOrder(
                        place + "[2].addr is \"10.0.0.256\": give a numeric IPv4 address",
                        place + "[3].addr_type is \"IPv4\": write EID, IPV4 or IPV6",
                        place + "[4].addr is \"10.0.0.4\": give 32 hexadecimal digits",
                        place + "[5].ports is an empty array: give an array of 1 to 16 ports",
                        place + "[6] is the number 7: give an object");
    }

    @Test
    void everyFaultOfAnSccl10Table() {
        String table =
                """
                {"version": "1.1", "node_list": [
                  {"device_list": [
                    {"device_id": 0, "rank": "0", "local_rank": 0},
                    {"device_id": "0", "rank": "0", "local_rank": 0},
                    {"device_id": -1, "rank": "7", "device_ip": ""},
                    {"rank": "x", "local_rank": 5},
                    {"device_id": 1.5, "device_id": 3},
                    "device"]},
                  {"device_list": []},
                  {},
                  4]}
                """;
        assertThat(faults(table))
                .containsExactlyInAnyOrder(
                        "$.version is \"1.1\": write \"1.0\"",
                        "$.node_list[0].device_list[1].device_id is \"0\", as is"
                                + " $.node_list[0].device_list[0].device_id: each may appear once",
                        "$.node_list[0].device_list[1].rank is \"0\", as is"
                                + " $.node_list[0].device_list[0].rank: each may appear once",
                        "$.node_list[0].device_list[1].local_rank has local rank 0, as has"
                                + " $.node_list[0].device_list[0].local_rank",
                        "$.node_list[0].device_list[2].device_id is the number -1: give a whole"
                                + " number from 0 to 2147483647",
                        "$.node_list[0].device_list[2].rank is 7, but ranks go from 0 to 4, one for"
                                + " each device",
                        "$.node_list[0].device_list[2].device_ip is \"\": give a text that is not"
                                + " empty",
                        "$.node_list[0].device_list[3].device_id is missing: number of the device on"
                                + " its node",
                        "$.node_list[0].device_list[3].rank is \"x\": give a whole number from 0 to"
                                + " 2147483647",
                        "$.node_list[0].device_list[3].local_rank is 5, but local ranks go from 0 to"
                                + " 4 on this node",
                        "$.node_list[0].device_list[4].device_id appears twice, first at line 7,"
                                + " column 19",
                        "$.node_list[0].device_list[4].device_id is the number 1.5: give a whole"
                                + " number from 0 to 2147483647",
                        "$.node_list[0].device_list[4].rank is missing: rank in the job, from 0",
                        "$.node_list[0].device_list[5] is \"device\": give an object",
                        "$.node_list[1].device_list is an empty array: give an array with at least"
                                + " one object",
                        "$.node_list[2].device_list is missing: list the devices of the node",
                        "$.node_list[3] is the number 4: give an object");
    }

    @Test
    void ranksWithoutAGap() {
        assertThat(
                        sccl(
                                "{\"device_list\": [{\"device_id\": 0, \"rank\": 1},"
                                        + "{\"device_id\": 1, \"rank\": 3}]}",
                                "{\"device_list\": [{\"device_id\": 0, \"rank\": 1}]}"))
                .containsExactly(
                        "$.node_list[0].device_list[1].rank is 3, but ranks go from 0 to 2, one for"
                                + " each device",
                        "$.node_list[1].device_list[0].rank is the number 1, as is"
                                + " $.node_list[0].device_list[0].rank: each may appear once",
                        "$.node_list has no rank 0, 2");
    }

    @Test
    void namesOfTheRankMustAgree() {
        assertThat(
                        sccl(
                                "{\"device_list\": [{\"device_id\": 0, \"rank\": 0,"
                                        + " \"world_rank\": \"0\", \"rank_id\": 1}]}"))
                .containsExactly(
                        "$.node_list[0].device_list[0].rank_id is 1, but"
                                + " $.node_list[0].device_list[0].rank is 0");
    }

    @Test
    void everyFaultOfAnHccl10Table() {
        String table =
                """
                {"version": "1.0", "status": "initializing", "server_count": "3", "server_list": [
                  {"server_id": "10.0.0.1", "device": [
                    {"device_id": 0, "device_ip": "10.1.0.1", "rank_id": "0"},
                    {"device_id": "1", "device_ip": "10.1.0.1,fd00::1", "rank_id": "1",
                     "device_port": "0", "host_port": "65536", "backup_device_ip": "eth0"}]},
                  {"server_id": "10.0.0.1", "device": [
                    {"device_id": "0", "device_ip": "10.1.*.3", "rank_id": "2"}]},
                  {"device": [
                    {"device_id": "0", "rank_id": "3"},
                    {"device_id": "1", "device_ip": "10.1.0.5", "rank_id": "4"}]},
                  {"server_id": "%s", "device": [
                    {"device_id": "0", "device_ip": "10.1.0.6", "rank_id": "5"},
                    {"device_id": "1", "device_ip": "10.1.0.7", "rank_id": "6"}]}]}
                """
                        .formatted("x".repeat(65));
        assertThat(faults(table))
                .containsExactlyInAnyOrder(
                        "$.server_list[0].device[0].device_id is the number 0: HCCL reads text only,"
                                + " write \"0\"",
                        "$.server_list[0].device[1].device_ip is \"10.1.0.1,fd00::1\", as is"
                                + " $.server_list[0].device[0].device_ip: each may appear once",
                        "$.server_list[0].device[1].device_ip is \"10.1.0.1,fd00::1\", but"
                                + " $.server_list[0].device[0].device_ip is \"10.1.0.1\": use IPv4"
                                + " for all, or IPv6 for all",
                        "$.server_list[0].device[1].device_ip has 2 addresses, but"
                                + " $.server_list[0].device[0] has 1: all devices must have the"
                                + " same number",
                        "$.server_list[0].device[1].device_port is 0: ports begin at 1",
                        "$.server_list[0].device[1].host_port is \"65536\": give a whole number from"
                                + " 0 to 65535",
                        "$.server_list[0].device[1].backup_device_ip is \"eth0\": give numeric"
                                + " IPv4 or IPv6 addresses",
                        "$.server_list[1].server_id is \"10.0.0.1\", as is"
                                + " $.server_list[0].server_id: each may appear once",
                        "$.server_list[1].device[0].device_ip is \"10.1.*.3\": give numeric IPv4"
                                + " or IPv6 addresses",
                        "$.server_list[2].server_id is missing: the server's IP address or name",
                        "$.server_list[3].server_id has more than 64 characters",
                        "$.server_count is 3, but there are 4 servers in $.server_list",
                        "$.status is \"initializing\": HCCL waits until it is \"completed\"");
    }

    @Test
    void versionsOfServerLists() {
        String server =
                "{\"server_id\": \"a\", \"device\": [{\"device_id\": \"0\", \"rank_id\": \"0\"}]}";
        String table = HCCL.formatted(server);
        RankTable.parse(table);
        assertThat(faults(table.replace("\"1.0\"", "\"1.1\"")))
                .containsExactly(
                        "$.version is \"1.1\": give \"1.0\" or \"1.2\", or a rank_list for \"2.0\"");
        assertThat(faults(table.replace("\"version\": \"1.0\", ", "")))
                .containsExactly("$.version is missing: write \"1.0\", or \"1.2\" with super pods");
        assertThat(faults(table.replace("\"status\": \"completed\", ", "")))
                .containsExactly("$.status is missing: write \"completed\", HCCL waits for it");
        assertThat(faults(table.replace("{\"version", "{\"node_list\": [], \"version")))
                .contains(
                        "$.server_list is present together with node_list: a table has only one"
                                + " of these lists");
    }

    @Test
    void devicesOfOneServerNeedNoAddress() {
        String device = "{\"device_id\": \"%1$d\", \"rank_id\": \"%1$d\"}";
        String server = "{\"server_id\": \"%s\", \"device\": [%s]}";
        RankTable.parse(HCCL.formatted(server.formatted("a", device.formatted(0))));
        String two = server.formatted("a", device.formatted(0)) + ",";
        assertThat(warnings(HCCL.formatted(two + server.formatted("b", device.formatted(1)))))
                .containsExactly(
                        "$.server_list[0].device[0].device_ip is missing: devices of several servers"
                                + " need one (Ascend 910 and Atlas A2 refuse the table)",
                        "$.server_list[1].device[0].device_ip is missing: devices of several servers"
                                + " need one (Ascend 910 and Atlas A2 refuse the table)");
        String blank = device.replace("{", "{\"device_ip\": \"\", ");
        two = server.formatted("a", blank.formatted(0)) + ",";
        assertThat(warnings(HCCL.formatted(two + server.formatted("b", blank.formatted(1)))))
                .hasSize(2)
                .contains(
                        "$.server_list[1].device[0].device_ip is empty: devices of several servers"
                                + " need one (Atlas A2 refuses the table)");
    }

    @Test
    void addressesAreComparedAsAddresses() {
        String server =
                "{\"server_id\": \"a\", \"device\": ["
                        + "{\"device_id\": \"0\", \"rank_id\": \"0\", \"device_ip\": \"%s\"},"
                        + "{\"device_id\": \"1\", \"rank_id\": \"1\", \"device_ip\": \"%s\"}]}";
        assertThat(hccl(server.formatted("fd00::1", "fd00:0::1")))
                .containsExactly(
                        "$.server_list[0].device[1].device_ip is \"fd00:0::1\", as is"
                                + " $.server_list[0].device[0].device_ip: each may appear once");
        RankTable.parse(HCCL.formatted(server.formatted("fd00::1", "fd00::2")));
        RankTable.parse(
                HCCL.formatted(server.formatted("10.0.0.1, 10.0.0.2", "10.0.0.3,10.0.0.4")));
        RankTable.parse(HCCL.formatted(server.formatted("", "10.0.0.3")));
        assertThat(hccl(server.formatted("10.0.0.1,10.0.0.2", "10.0.0.3")))
                .containsExactly(
                        "$.server_list[0].device[1].device_ip has 1 addresses, but"
                                + " $.server_list[0].device[0] has 2: all devices must have the"
                                + " same number");
        for (String wrong :
                List.of("1.2.3", "256.1.1.1", "localhost", "fd00", "a:b:c", "1::2::3")) {
            assertThat(hccl(server.formatted(wrong, "10.0.0.1")))
                    .containsExactly(
                            "$.server_list[0].device[0].device_ip is \""
                                    + wrong
                                    + "\": give numeric IPv4 or IPv6 addresses");
        }
    }

    @Test
    void superPods() {
        String all = "{\"super_pod_id\": \"p\", \"server_list\": [%s]}";
        RankTable.parse(
                SUPER.formatted(all.formatted("{\"server_id\": \"a\"}, {\"server_id\": \"b\"}")));
        assertThat(warnings(SUPER.formatted(all.formatted("{\"server_id\": \"a\"}"))))
                .contains(
                        "$.server_list[1] is in no super pod of $.super_pod_list (Atlas A3 refuses"
                                + " the table)");
        assertThat(
                        warnings(
                                SUPER.replace("\"8\"", "\"7\"")
                                        .formatted(
                                                all.formatted(
                                                        "{\"server_id\": \"a\"}, {\"server_id\": \"a\"},"
                                                                + "{\"server_id\": \"b\"}, {\"server_id\":"
                                                                + " \"c\"}"))))
                .contains(
                        "$.super_pod_list[0].server_list[1].server_id is \"a\", as is"
                                + " $.super_pod_list[0].server_list[0].server_id: each may appear"
                                + " once (HCCL takes it)",
                        "$.super_pod_list[0].server_list[3].server_id is \"c\", which is not in"
                                + " $.server_list (Atlas A3 refuses the table)",
                        "$.server_list[1].device[0].super_device_id is \"7\", as is"
                                + " $.server_list[0].device[0].super_device_id: each may appear"
                                + " once (Atlas A3 refuses the table)");
    }

    @Test
    void namesAndNumbersInSuperPods() {
        String pods =
                "{\"super_pod_id\": \"p\", \"server_list\": [{\"server_id\": \"a\"}]},"
                        + "{\"super_pod_id\": \"%s\", \"server_list\": [{\"server_id\": \"b\"}]}";
        assertThat(warnings(SUPER.formatted(pods.formatted("p"))))
                .contains(
                        "$.super_pod_list[1].super_pod_id is \"p\", as is"
                                + " $.super_pod_list[0].super_pod_id: each may appear once (Atlas A3"
                                + " refuses the table)");
        assertThat(warnings(SUPER.replace("\"super_device_id\": \"8\", ", "").formatted(pods)))
                .contains(
                        "$.server_list[1].device[0].super_device_id is missing: number of the device"
                                + " in its super pod (Atlas A3 refuses the table)");
        assertThat(faults(SUPER.replace("\"8\"", "\"4294967296\"").formatted(pods)))
                .contains(
                        "$.server_list[1].device[0].super_device_id is \"4294967296\": give a whole"
                                + " number from 0 to 4294967294");
    }

    @Test
    void groupLists() {
        String table = Examples.text("hccl-group-list.json");
        assertThat(
                        faults(
                                table.replace("\"group_count\": \"1\"", "\"group_count\": \"2\"")
                                        .replace(
                                                "\"instance_count\": \"2\"",
                                                "\"instance_count\": 2")
                                        .replace(
                                                "\"device_count\": \"2\"",
                                                "\"device_count\": \"4\"")
                                        .replace("\"w1\"", "\"w0\"")
                                        .replace(
                                                "{ \"status\"",
                                                "{ \"version\": \"1.0\", \"status\"")))
                .containsExactlyInAnyOrder(
                        "$.version makes HCCL look for a server_list: remove it, or write the table"
                                + " in that form",
                        "$.group_list[0].instance_list[1].pod_name is \"w0\", as is"
                                + " $.group_list[0].instance_list[0].pod_name: each may appear once",
                        "$.group_list[0].instance_count is the number 2: HCCL reads text only, write"
                                + " \"2\"",
                        "$.group_list[0].device_count is 4, but there are 2 devices in this"
                                + " group",
                        "$.group_count is 2, but there are 1 groups in $.group_list");
        String lab = Examples.text("hccl-group-list-lab.json");
        assertThat(faults(lab.replace("\"device_num\": \"2\"", "\"device_num\": \"1\"")))
                .containsExactly(
                        "$.group_list[0].device_num is 1, but there are 2 devices in this group");
        assertThat(faults(lab.replace("\"rank_id\": \"1\", ", "")))
                .containsExactly(
                        "$.group_list[0].instance_list[0].rank_id is missing: rank of this instance,"
                                + " from 0");
        assertThat(faults(lab.replace("\"rank_id\": \"1\"", "\"rank_id\": \"2\"")))
                .contains("$.group_list has no rank 1");
    }

    @Test
    void anInstanceWithARankHasOneDevice() {
        String lab =
                """
                {"status": "completed", "deploy_mode": "lab", "group_list": [{"instance_list": [
                  {"rank_id": "0", "server_id": "a", "devices": [
                    {"device_id": "0"}, {"device_id": "1"}]}]}]}
                """;
        assertThat(faults(lab))
                .contains(
                        "$.group_list[0].instance_list[0] has one rank_id for 2 devices: write one"
                                + " instance for each device");
    }

    @Test
    void theMessageNamesTableAndPlaces() {
        assertThat(refuse("{\"version\": \"1.0\",\n \"node_list\": {}}"))
                .hasMessage(
                        "rank table has 1 fault:\n"
                                + "  $.node_list (line 2, column 15) is an object: give an array with"
                                + " at least one object");
    }

    @Test
    void manyFaultsAreAllKeptButNotAllInTheMessage() {
        RankTableException refused =
                refuse(SCCL.formatted("{\"device_list\": [" + "{},".repeat(49) + "{}]}"));
        assertThat(refused.faults()).hasSize(100);
        assertThat(refused)
                .hasMessageContaining("has 100 faults:")
                .hasMessageEndingWith("and 80 more");
    }

    @Test
    void aFileOfFaultsDoesNotFillTheMemory() {
        RankTableException refused =
                refuse(SCCL.formatted("{\"device_list\": [" + "{},".repeat(99_999) + "{}]}"));
        assertThat(refused.faults()).hasSize(10_001);
        assertThat(refused.faults().get(10_000))
                .hasToString("$ (line 1, column 1) has 200000 faults; the first 10000 are listed");
    }

    @Test
    void filesThatAreNoText(@TempDir Path folder) throws IOException {
        Path file = Files.write(folder.resolve("table.json"), new byte[] {'{', (byte) 0xC3, '}'});
        assertThatThrownBy(() -> RankTable.read(file))
                .isInstanceOf(RankTableException.class)
                .hasMessage("rank table " + file + " is not in UTF-8: write it again in UTF-8");
        assertThatThrownBy(() -> RankTable.read(folder))
                .isInstanceOf(RankTableException.class)
                .hasMessageContaining("cannot be read");
        Path marked = folder.resolve("marked.json");
        Files.writeString(marked, "\uFEFF" + Examples.text("hccl-1.0.json"));
        assertThat(RankTable.read(marked).size()).isEqualTo(4);
    }
}

package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class RankTableCommandTest {

    private static final String EXAMPLES =
            "/org/jccl/ranktable/RankTableFuzzTestInputs/readsOrExplains/";

    @TempDir private Path folder;

    private Path example(String name) throws IOException {
        Path file = folder.resolve(name);
        try (InputStream in = RankTable.class.getResourceAsStream(EXAMPLES + name)) {
            Files.copy(in, file);
        }
        return file;
    }

    private static Command ranktable(String... arguments) {
        List<String> all = new ArrayList<>(List.of("ranktable"));
        all.addAll(List.of(arguments));
        return Command.jccl(all.toArray(new String[0]));
    }

    private static String succeeded(Command command) {
        assertThat(command.err()).isEmpty();
        assertThat(command.exitCode()).isZero();
        return command.out();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "sccl-template.json",
                "sccl-1.0.json",
                "sccl-1.0-text-ids.json",
                "sccl-emulator.json",
                "sccl-server-list.json",
                "hccl-1.0.json",
                "hccl-1.2.json",
                "hccl-group-list.json",
                "hccl-group-list-lab.json"
            })
    void writesAndShowsExamplesAsTheyAre(String name) throws IOException {
        Path file = example(name);
        Path again = folder.resolve("again.json");
        succeeded(ranktable("generate", "--from", file.toString(), "-o", again.toString()));
        assertThat(RankTable.read(again)).isEqualTo(RankTable.read(file));
        assertThat(compact(again)).isEqualTo(compact(file));
        assertThat(succeeded(ranktable("check", again.toString())))
                .isEqualTo(again + ": valid, " + RankTable.read(file) + System.lineSeparator());
        for (String[] json : new String[][] {{}, {"--json"}}) {
            List<String> show = new ArrayList<>(List.of("show", file.toString()));
            show.addAll(List.of(json));
            String before = succeeded(ranktable(show.toArray(new String[0])));
            show.set(1, again.toString());
            assertThat(succeeded(ranktable(show.toArray(new String[0])))).isEqualTo(before);
        }
    }

    private static String compact(Path file) throws IOException {
        return Files.readString(file).replaceAll("\\s", "");
    }

    @Test
    void takesTheToolsArguments() throws IOException {
        Path file = folder.resolve("table.json");
        String out =
                succeeded(
                        ranktable(
                                "generate",
                                "--device_id",
                                "[[0, 1, 2, 3, 4, 5, 6, 7]]",
                                "-o",
                                file.toString()));
        assertThat(out).startsWith(file + ": SCCL 1.0, 8 ranks on 1 node");
        assertThat(file).hasSameTextualContentAs(example("sccl-1.0.json"));
        assertThat(
                        succeeded(
                                ranktable(
                                        "generate",
                                        "--device_id=[['3','2'],[\"0\", '1',],]",
                                        "--device_ip=[['10.0.0.1','10.0.0.2'],"
                                                + "['10.0.0.3','10.0.0.4','unused']]",
                                        "-o-")))
                .isEqualTo(
                        Files.readString(example("sccl-1.0-text-ids.json"))
                                + System.lineSeparator());
        assertThat(
                        succeeded(
                                ranktable(
                                        "generate",
                                        "--device_id",
                                        "[['0','7']]",
                                        "--emulator",
                                        "True",
                                        "-o",
                                        "-")))
                .isEqualToIgnoringWhitespace(Files.readString(example("sccl-emulator.json")));
    }

    @Test
    void anyTextTurnsTheEmulatorFormOn() {
        Command command =
                ranktable("generate", "--device_id", "[[0]]", "--emulator", "False", "-o", "-");
        assertThat(command.exitCode()).isZero();
        assertThat(command.out()).contains("\"device_ip_emulator\":\"127.0.0.1\"");
        assertThat(command.err()).contains("--emulator False counts as true");
    }

    /** In a process of its own: the folder and the environment are its own. */
    @ParameterizedTest
    @CsvSource({"'', sccl_rank_table.json", "named.json, named.json"})
    void theToolsFileIsTheDefault(String variable, String file) throws Exception {
        ProcessBuilder builder =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Jccl.class.getName(),
                        "ranktable",
                        "generate",
                        "--device_id",
                        "[[0, 1, 2, 3, 4, 5, 6, 7]]");
        builder.environment().put("RANK_TABLE_FILE", variable);
        Path output = folder.resolve("out");
        Process process =
                builder.directory(folder.toFile())
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        assertThat(process.waitFor(100, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(Files.readString(output)).isZero();
        assertThat(folder.resolve(file)).hasSameTextualContentAs(example("sccl-1.0.json"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "[0,1]            | expected '[' at character 2, found '0'",
                "[[0,1]           | expected ',' or ']' at character 7, found the end",
                "[[0]] x          | expected the end at character 7, found 'x'",
                "[[a]]            | expected a number or a text in quotes",
                "[[0],[1]]        | --device_id has 2 nodes, but --device_ip has 1",
                "[[0,1,2,3,4,5,6,7,8]] | node 0 has 9 devices, but 8 addresses",
                "[[0,\"1\"]]      | has numbers with and without quotes",
                "[[\"x\"]]        | 'x' is not a device number",
                "[[0,0]]          | $.node_list[0].device_list[1].device_id is the number 0, as is",
                "[[-1]]           | $.node_list[0].device_list[0].device_id is the number -1",
                "[[]]             | $.node_list[0].device_list is an empty array",
                "[]               | $.node_list is an empty array",
            })
    void whatTheToolDoesNotTakeEndsWith1(String lists, String message) {
        Command command = ranktable("generate", "--device_id", lists, "-o", "-");
        assertThat(command.err()).contains(message);
        assertThat(command.exitCode()).isEqualTo(1);
        assertThat(command.out()).isEmpty();
    }

    @Test
    void makesTablesFromHosts() throws IOException {
        String plain =
                succeeded(
                        ranktable(
                                "generate",
                                "--format=hccl",
                                "--hosts=10.20.0.11,10.20.0.12",
                                "--devices=0-1",
                                "--device-ips=192.168.40.10,192.168.41.10"
                                        + "/192.168.40.20,192.168.41.20"));
        assertThat(plain)
                .isEqualToIgnoringWhitespace(RankTable.read(example("hccl-1.0.json")).toJson());
        String pods =
                succeeded(
                        ranktable(
                                "generate",
                                "--format=hccl-1.2",
                                "--hosts=srv-a,srv-b",
                                "--devices=0,1/0,1",
                                "--super-pods=pod-0",
                                "--super-devices=0,65537/4194304,4259841",
                                "--device-ips=192.168.40.10,192.168.40.11"
                                        + "/192.168.40.20,192.168.40.21"));
        assertThat(pods)
                .isEqualToIgnoringWhitespace(RankTable.read(example("hccl-1.2.json")).toJson());
        RankTable sccl =
                RankTable.parse(succeeded(ranktable("generate", "--devices=7,6,2-3/0-1,4,5")));
        assertThat(sccl.chipMap()).containsExactly(7, 6, 2, 3, 0, 1, 4, 5);
        assertThat(sccl.nodeCount()).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "--devices=0 --device_id=[[0]] | mutually exclusive",
                "--format=hccl                 | Missing required argument",
                "--devices=0 --device_ip=[[1]] | --device_ip cannot be combined with --devices",
                "--device_id=[[0]] --hosts=a   | --hosts cannot be combined with --device_id",
                "--from=x --emulator           | --emulator cannot be combined with --from",
                "--devices=0 --format=nccl     | --format nccl: give sccl, hccl, hccl-1.2 or hccl-2.0",
                "--devices=0 --format=hccl-2.0 --layer=0=1.1.1.1 | give LAYER:PORTS[:PLANE[:NETWORK]]=LIST",
                "--devices=0-1 --format=hccl-2.0 --layer=0:0/0=1.1.1.1 | --layer 0:0/0=1.1.1.1 is for 1 devices of host 0, but there are 2",
                "--device_id=[[0]] --layer=0:0/0=1.1.1.1 | --layer cannot be combined with"
                        + " --device_id",
                "--devices=3-0                 | 3-0 goes backwards",
                "--devices=0,x                 | 'x' is not a device number",
                "--devices=0/1 --hosts=a,b,c   | --devices is for 2 hosts, but there are 3",
                "--devices=0-1 --device-ips=1.1.1.1 | is for 1 devices of host 0, but there are 2",
            })
    void aWrongCommandLineEndsWith2(String arguments, String message) {
        List<String> all = new ArrayList<>(List.of("generate", "-o", "-"));
        all.addAll(List.of(arguments.split(" ")));
        Command command = ranktable(all.toArray(new String[0]));
        assertThat(command.err()).contains(message);
        assertThat(command.exitCode()).isEqualTo(2);
    }

    @Test
    void whatSomeChipsRefuseIsAWarning() {
        Command command =
                ranktable("generate", "--format=hccl", "--hosts=a,b", "--devices=0", "-o", "-");
        assertThat(command.exitCode()).isZero();
        assertThat(command.err())
                .contains(
                        "warning: $.server_list[0].device[0].device_ip is missing",
                        "(Ascend 910 and Atlas A2 refuse the table)");
    }

    @Test
    void layersOfNetworksAreGenerated() {
        RankTable table =
                RankTable.parse(
                        succeeded(
                                ranktable(
                                        "generate",
                                        "--format=hccl-2.0",
                                        "--hosts=pod0,pod1",
                                        "--devices=0-1",
                                        "--layer=0:1/0=10.4.0.0,10.4.0.1/10.4.1.0,10.4.1.1",
                                        "--layer=1:0/4+0/5:plane0:az0=fd00::1,fd00::2/fd00::3,fd00::4",
                                        "--layer=2:0/6=10.6.0.0,10.6.0.1/10.6.1.0,10.6.1.1")));
        assertThat(table).hasToString("HCCL 2.0, 4 ranks on 2 nodes");
        assertThat(table.entry(2).nodeId()).isEqualTo("pod1");
        assertThat(table.entry(3).deviceIps()).containsExactly("10.4.1.1", "fd00::4", "10.6.1.1");
        assertThat(table.toJson().replaceAll("\\s", ""))
                .contains(
                        "\"net_layer\":1,\"net_instance_id\":\"az0\",\"net_type\":\"CLOS\","
                                + "\"rank_addr_list\":[{\"addr_type\":\"IPV6\",\"addr\":\"fd00::4\","
                                + "\"ports\":[\"0/4\",\"0/5\"],\"plane_id\":\"plane0\"}]",
                        "\"net_layer\":2,\"net_instance_id\":\"layer2\"");
    }

    @Test
    void aTableOfLayersIsShownAndChecked() throws IOException {
        Path file = example("hccl-2.0-eid.json");
        assertThat(succeeded(ranktable("check", file.toString()))).contains("HCCL 2.0");
        assertThat(succeeded(ranktable("show", file.toString())))
                .contains("superpod-0", "000000000000000000100000dfdf0021");
        assertThat(succeeded(ranktable("show", "--json", file.toString())))
                .contains("\"node_id\" : \"superpod-0\"");
    }

    @Test
    void oldFormsBecomeNewOnes() throws IOException {
        Path old = example("hccl-group-list.json");
        RankTable table =
                RankTable.parse(
                        succeeded(
                                ranktable("generate", "--from", old.toString(), "--format=hccl")));
        assertThat(table.format()).isEqualTo(RankTableFormat.HCCL_1_0);
        assertThat(table.entries()).isEqualTo(RankTable.read(old).entries());
    }

    @Test
    void checkListsEveryFault() throws IOException {
        Path file = folder.resolve("bad.json");
        Files.writeString(
                file,
                """
                {"version": "1.0", "node_list": [{"device_list": [
                  {"device_id": 0, "rank": 0},
                  {"device_id": 0, "rank": 2},
                  {"rank": "1"}]}]}
                """);
        Command command = ranktable("check", file.toString());
        assertThat(command.exitCode()).isEqualTo(1);
        assertThat(command.out()).isEmpty();
        assertThat(command.err().lines())
                .containsExactly(
                        file
                                + ": $.node_list[0].device_list[2].device_id (line 4, column 3) is"
                                + " missing: number of the device on its node",
                        file
                                + ": $.node_list[0].device_list[1].device_id (line 3, column 17) is"
                                + " the number 0, as is $.node_list[0].device_list[0].device_id:"
                                + " each may appear once",
                        file + ": not valid, faults: 2");
    }

    @Test
    void checkSaysWhatOneChipRefuses() throws IOException {
        Path file = folder.resolve("uneven.json");
        Files.writeString(
                file,
                """
                {"version": "1.0", "status": "completed", "server_list": [
                  {"server_id": "a", "device": [
                    {"device_id": "0", "rank_id": "0", "device_ip": "10.0.0.1"}]},
                  {"server_id": "b", "device": [
                    {"device_id": "9", "rank_id": "1", "device_ip": "10.0.0.2"}]}]}
                """);
        assertThat(succeeded(ranktable("check", file.toString())))
                .contains("warning: $.server_list[1].device[0].device_id")
                .contains("(Ascend 910 refuses the table)");
        succeeded(ranktable("check", "--chip", "a3", file.toString()));
        Command first = ranktable("check", "--chip", "910", file.toString());
        assertThat(first.exitCode()).isEqualTo(1);
        assertThat(first.err())
                .contains("is 9: device numbers go from 0 to 7")
                .endsWith(file + ": not valid, faults: 1\n");
        assertThat(ranktable("check", "--chip", "950", file.toString()).err())
                .contains("is of the form HCCL 1.0: Ascend 950 takes HCCL 2.0 only");
        assertThat(ranktable("check", "--chip", "A4", file.toString()).err())
                .contains("'A4' is none of 910, A2, A3, 950");
    }

    @Test
    void saysWhichFileIsNotThere() {
        Path none = folder.resolve("none.json");
        for (String command : List.of("check", "show")) {
            Command run = ranktable(command, none.toString());
            assertThat(run.exitCode()).isEqualTo(1);
            assertThat(run.err()).startsWith("jccl: rank table " + none + " cannot be read");
        }
        Command write =
                ranktable("generate", "--devices=0", "-o", folder.resolve("no/x").toString());
        assertThat(write.exitCode()).isEqualTo(1);
        assertThat(write.err()).contains("cannot be written");
    }

    @Test
    void tellsOfAFileNameThatHcclRefuses() throws IOException {
        Path file = folder.resolve("hccl.txt");
        String made =
                succeeded(
                        ranktable(
                                "generate",
                                "--format=hccl",
                                "--hosts=a",
                                "--devices=0",
                                "-o",
                                file.toString()));
        assertThat(made).contains("warning: " + file + " does not end in .json");
        assertThat(succeeded(ranktable("check", file.toString()))).contains("warning: ");
    }

    @Test
    void showsColumns() throws IOException {
        assertThat(succeeded(ranktable("show", example("hccl-1.0.json").toString())).lines())
                .containsExactly(
                        "HCCL 1.0, 4 ranks on 2 nodes",
                        "node        device  rank  local rank  ip",
                        "10.20.0.11  0       0     0           192.168.40.10",
                        "10.20.0.11  1       1     1           192.168.41.10",
                        "10.20.0.12  0       2     0           192.168.40.20",
                        "10.20.0.12  1       3     1           192.168.41.20");
        assertThat(succeeded(ranktable("show", example("sccl-template.json").toString())).lines())
                .containsExactly(
                        "SCCL 1.0, 2 ranks on 1 node",
                        "node  device  rank  local rank  ip",
                        "0     0       0     0           -",
                        "0     1       1     1           -");
        assertThat(succeeded(ranktable("show", example("hccl-1.2.json").toString())))
                .contains("super pod  super device", "pod-0      4259841");
    }

    @Test
    void namesDoNotSteerTheTerminal() throws IOException {
        Path file = folder.resolve("table.json");
        Files.writeString(
                file,
                "{\"version\":\"1.0\",\"status\":\"completed\",\"server_list\":[{\"server_id\":"
                        + "\"a\\u001b[2Jb\",\"device\":[{\"device_id\":\"0\",\"rank_id\":\"0\"}]}]}");
        assertThat(succeeded(ranktable("show", file.toString()))).contains("a?[2Jb");
    }

    @Test
    void jsonIsTheSameForAllFormats() throws IOException {
        String json = succeeded(ranktable("show", "--json", example("hccl-1.2.json").toString()));
        List<String> values = new ArrayList<>();
        try (JsonParser parser = new JsonFactory().createParser(json)) {
            while (parser.nextToken() != null) {
                if (parser.currentToken().isScalarValue()) {
                    values.add(parser.currentName() + "=" + parser.getText());
                }
            }
        }
        assertThat(values)
                .startsWith("format=HCCL 1.2", "world_size=4", "nodes=2", "rank=0", "node=0")
                .endsWith(
                        "rank=3",
                        "node=1",
                        "node_id=srv-b",
                        "local_rank=1",
                        "device=1",
                        "null=192.168.40.21",
                        "super_device=4259841",
                        "super_pod=pod-0");
    }

    @Test
    void asksForASubcommand() {
        Command command = ranktable();
        assertThat(command.exitCode()).isEqualTo(2);
        assertThat(command.err()).contains("generate, check or show");
    }
}

package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

@Tag("all")
final class PlotCommandTest {

    private static final String HEADER =
            "backend,op,dtype,ranks,bytes,iters,median_us,p99_us,algbw_GBps,busbw_GBps,"
                    + "alloc_bytes_per_op,wrong\n";
    private static final String GLOO =
            HEADER
                    + "gloo,all_reduce,float32,2,4,20,50.0,60.0,0.0001,0.0001,0.0,0\n"
                    + "gloo,all_reduce,float32,2,1048576,20,600.0,700.0,1.7,1.7,0.0,0\n";

    @TempDir private Path folder;

    private Path file(String name, String content) throws IOException {
        return Files.writeString(folder.resolve(name), content);
    }

    private Command plot(Object... arguments) {
        String[] words = new String[arguments.length + 3];
        words[0] = "plot";
        for (int i = 0; i < arguments.length; i++) {
            words[i + 1] = arguments[i].toString();
        }
        words[arguments.length + 1] = "-o";
        words[arguments.length + 2] = folder.resolve("plot.svg").toString();
        return Command.jccl(words);
    }

    private String drawn(Object... arguments) throws Exception {
        Command plot = plot(arguments);
        assertThat(plot.err()).isEmpty();
        assertThat(plot.exitCode()).isZero();
        Path svg = folder.resolve("plot.svg");
        DocumentBuilderFactory parser = DocumentBuilderFactory.newInstance();
        // Where the type is described is a place in the network.
        parser.setFeature("http://apache.org/xml/features/nonvalidating/load-external-dtd", false);
        assertThat(
                        parser.newDocumentBuilder()
                                .parse(svg.toFile())
                                .getDocumentElement()
                                .getTagName())
                .isEqualTo("svg");
        return Files.readString(svg);
    }

    @Test
    void namesCurvesAfterWhatTellsThemApart() throws Exception {
        Path gloo = file("a.csv", GLOO);
        Path mpi = file("b.csv", GLOO.replace("gloo,", "mpi,"));
        assertThat(drawn(gloo, mpi))
                .contains(">all_reduce, float32, 2 ranks</title")
                .contains("\ngloo\n", "\nmpi\n  4 bytes: 50.00 microseconds")
                .doesNotContain("WRONG");
        // Then only the files differ.
        assertThat(drawn(gloo, file("later.csv", GLOO))).contains("\na: gloo\n", "\nlater: gloo\n");
    }

    @Test
    void namesCurvesAsItIsTold() throws Exception {
        Path gloo = file("a.csv", GLOO);
        assertThat(drawn(gloo, "R&D <b>=" + file("b.csv", GLOO)))
                .contains("\nR&amp;D &lt;b&gt;\n", "\ngloo\n");
        assertThat(drawn(gloo, "--title", "A title")).contains(">A title<");
    }

    @Test
    void theSameDataAreTheSameBytes() throws Exception {
        Path gloo = file("a.csv", GLOO);
        Path other = file("b.csv", GLOO.replace("gloo,", "mpi,"));
        assertThat(drawn(gloo, other)).isEqualTo(drawn(gloo, other));
    }

    @Test
    void drawsOneSizeAndOneRank() throws Exception {
        String oneSize = GLOO.lines().limit(2).reduce("", (all, line) -> all + line + "\n");
        assertThat(drawn(file("a.csv", oneSize)))
                .contains("\n  4 bytes: ")
                .doesNotContain("\n  1048576");
        String oneRank = HEADER + "gloo,all_reduce,float32,1,4,20,5.0,6.0,0.1,0.0,0.0,0\n";
        assertThat(drawn(file("b.csv", oneRank)))
                .contains(">all_reduce, gloo, float32, 1 rank<", "width=\"480\"");
    }

    @Test
    void saysWhenResultsWereWrong() throws Exception {
        assertThat(drawn(file("a.csv", GLOO.replace(",0\n", ",3\n"))))
                .contains("gloo (WRONG RESULTS)");
    }

    @Test
    void readsWhatBenchWrote() throws Exception {
        Path json = folder.resolve("out.json");
        Command bench =
                Command.jccl("bench", "all_gather", "-b4K", "-e8K", "--iters=2", "--json=" + json);
        assertThat(bench.exitCode()).as(bench.err()).isZero();
        assertThat(drawn(json)).contains(">all_gather, gloo, float32, 2 ranks<", "4096 bytes");
    }

    private static Stream<Arguments> otherFiles() {
        String csv = "backend,op,bytes,median_us,busbw_GBps\n";
        String json = "{\"backend\": {\"name\": \"gloo\"}, \"results\": ";
        return Stream.of(
                arguments("", "its first line is not that of --csv, nor is it JSON"),
                arguments("hello", "its first line is not that of --csv, nor is it JSON"),
                arguments(csv, "it has no results"),
                arguments(csv + "gloo,a", "line 2 has 2 columns"),
                arguments(csv + "gloo,a,4,1,1", "a result has no dtype"),
                arguments("{}", "it names no backend"),
                arguments(json + "[]}", "it has no results"),
                arguments(json + "[{\"op\": \"x\"}]}", "a result has no dtype"),
                arguments(json + "[", "Unexpected end-of-input"),
                arguments("{\"backend\" no", "Unexpected character"),
                arguments("{\"rank\": 0, \"entries\": []}", "it names no backend"));
    }

    @ParameterizedTest
    @MethodSource("otherFiles")
    void refusesFilesThatAreNotOfBench(String content, String reason) throws IOException {
        Command plot = plot(file("a.txt", content));
        assertThat(plot.exitCode()).isEqualTo(1);
        assertThat(plot.err()).contains("a.txt is not a file of jccl bench", reason);
        assertThat(folder.resolve("plot.svg")).doesNotExist();
    }

    @Test
    void refusesWhatHasNoPlace() throws IOException {
        Path barrier = file("a.csv", HEADER + "gloo,barrier,none,2,0,20,50,60,0,0,0,0\n");
        assertThat(plot(barrier).err()).contains("there is nothing to plot");
        Path broken = file("b.csv", GLOO.replace("50.0", "NaN"));
        assertThat(plot(broken).err()).contains("median_us is 'NaN'");
        assertThat(plot(folder.resolve("none.csv")).err()).contains("none.csv does not exist");
        Path twice = file("c.csv", GLOO);
        assertThat(plot(twice, twice).err()).contains("two files are called c; name them");
        StringBuilder many = new StringBuilder(HEADER);
        for (int i = 0; i < 13; i++) {
            many.append("gloo" + i + ",all_reduce,float32,2,4,20,50,60,1,1,0,0\n");
        }
        assertThat(plot(file("d.csv", many.toString())).err())
                .contains("13 curves cannot be distinguished");
    }

    @Test
    void refusesAnOutputThatItMayNotWrite() throws IOException {
        Path gloo = file("a.csv", GLOO);
        Command plot = Command.jccl("plot", gloo.toString(), "-o", "/no/folder/a.svg");
        assertThat(plot.exitCode()).isEqualTo(2);
        assertThat(plot.err()).contains("--output must name a file in a folder that exists");
        Path sealed = Files.createDirectory(folder.resolve("sealed"));
        Files.setPosixFilePermissions(sealed, PosixFilePermissions.fromString("r-xr-xr-x"));
        assumeThat(Files.isWritable(sealed)).as("root may write anywhere").isFalse();
        assertThat(Command.jccl("plot", gloo.toString(), "-o", sealed + "/a.svg").err())
                .contains("which this user may not write");
    }
}

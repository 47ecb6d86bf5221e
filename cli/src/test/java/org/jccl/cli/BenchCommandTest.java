package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class BenchCommandTest {

    @ParameterizedTest
    @ValueSource(strings = {"sync", "async"})
    void measuresEveryOperationOnTwoRanks(String mode, @TempDir Path folder) throws Exception {
        Path csv = folder.resolve("all.csv");
        Path json = folder.resolve("all.json");
        Command bench =
                Command.jccl(
                        "bench",
                        "all",
                        "-g2",
                        "-b4",
                        "-e64K",
                        "-f128",
                        "--mode=" + mode,
                        "--iters=3",
                        "--warmup=1",
                        "--csv=" + csv,
                        "--json=" + json,
                        "--svg=" + folder.resolve("all.svg"));
        assertThat(bench.exitCode()).as(bench.err()).isZero();
        assertThat(bench.out())
                .contains("# Collective test starting: all_reduce", "#  Rank  1")
                .contains("# Collective test concluded: barrier")
                .doesNotContain("FAILED");
        List<String> lines = Files.readAllLines(csv);
        // Nine operations at 4 B, 512 B and 64 KB, the barrier, and the header.
        assertThat(lines).hasSize(9 * 3 + 2);
        assertThat(lines.subList(1, lines.size()))
                .allMatch(line -> line.startsWith("gloo,") && line.endsWith(",0"));
        assertThat(Files.readString(json)).contains("\"placement\" : \"in-place\"");
        assertThat(folder.resolve("all.svg")).content().contains("\nall_to_all\n", "\nscatter\n");
    }

    @Test
    void checksAveragesOfHalvesOnThreeRanks() {
        Command bench =
                Command.jccl(
                        "bench",
                        "--no-progress", // the ranks get it anyway
                        "all_reduce",
                        "-g3",
                        "-b2",
                        "-e4K",
                        "-dhalf",
                        "-oavg",
                        "--iters=2");
        assertThat(bench.exitCode()).as(bench.err()).isZero();
        assertThat(bench.out()).contains("# Out of bounds values : 0 OK").contains("half     avg");
    }

    /** In a process of its own, as {@code srun --pty bash} would start it. */
    @Test
    void startsTheRanksFromASlurmShell(@TempDir Path folder) throws Exception {
        ProcessBuilder builder =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Jccl.class.getName(),
                        "bench",
                        "barrier",
                        "-g2",
                        "--iters=2");
        builder.environment()
                .putAll(
                        Map.of(
                                "SLURM_PROCID", "0",
                                "SLURM_STEP_NUM_TASKS", "1",
                                "SLURM_STEP_NODELIST", "localhost",
                                "SLURM_STEP_ID", "0",
                                "SLURM_JOB_ID", "1"));
        Path output = folder.resolve("out");
        Process process = builder.redirectErrorStream(true).redirectOutput(output.toFile()).start();
        assertThat(process.waitFor(100, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(Files.readString(output)).isZero();
        assertThat(output).content().contains("#  Rank  1");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "all_reduced | unknown operation 'all_reduced'; known: all all_reduce",
                "all_reduce -b 1M -e 1K | -b must be from 1",
                "all_reduce -b x | 'x' is not a size",
                "all_reduce -d float33 | unknown data type 'float33'",
                "all_reduce -o median | unknown reduce op 'median'",
                "all_reduce -o avg -d int | avg is not defined for int32",
                "all_reduce -d f8e4m3 | can be moved here, but not be reduced",
                "all_reduce --mode later | --mode': expected one of",
                "all_reduce -f 1 | -f must be from 2",
                "all_reduce -n 0 | -n must be at least 1",
                "all_reduce --iters 0 | -n must be at least 1",
                "all_reduce --budget 0 | --budget must be more than 0",
                "all_reduce --csv /no/folder/a.csv | --csv must name a file in a folder that exists",
                "all_reduce --json / | --json must name a file",
                "all_reduce --svg /no/folder/a.svg | --svg must name a file in a folder",
                "barrier --svg a.svg | --svg plots against size, and barrier has no size"
            })
    void refusesWrongCommandLines(String commandLine, String message) {
        Command bench = Command.jccl(("bench " + commandLine).split(" "));
        assertThat(bench.exitCode()).isEqualTo(2);
        assertThat(bench.err()).contains(message);
        assertThat(bench.out()).isEmpty();
    }

    @Test
    void aFailingRankEndsTheJobWithItsReason() {
        Command bench = Command.jccl("bench", "sendrecv", "-g1");
        assertThat(bench.exitCode()).isNotZero();
        assertThat(bench.err()).contains("sendrecv needs a second rank");
    }

    @Test
    void aBackendWithoutBindingIsNamed() {
        Command bench = Command.jccl("bench", "all_reduce", "--backend=cpu:glooo", "-g1");
        assertThat(bench.exitCode()).isNotZero();
        assertThat(bench.err()).contains("no binding for backend 'glooo'", "JCCL has [gloo,");
    }
}

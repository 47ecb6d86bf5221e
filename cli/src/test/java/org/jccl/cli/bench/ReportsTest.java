package org.jccl.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.jccl.Availability;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.cli.bench.Collective.Placement;
import org.jccl.cli.bench.Stopwatch.Timing;
import org.jccl.cli.info.Host;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ReportsTest {

    private static final Row ALL_REDUCE =
            new Row(
                    Collective.ALL_REDUCE,
                    Optional.of(DataType.FLOAT32),
                    Optional.of("sum"),
                    4,
                    1_000_000,
                    250_000,
                    -1,
                    Map.of(Placement.IN_PLACE, new Row.Result(new Timing(20, 500, 750.5, 0), 3)));

    private static final Row ALL_GATHER =
            new Row(
                    Collective.ALL_GATHER,
                    Optional.of(DataType.FLOAT8_E4M3),
                    Optional.empty(),
                    2,
                    2048,
                    1024,
                    -1,
                    Map.of(
                            Placement.OUT_OF_PLACE,
                            new Row.Result(new Timing(20, 100, 200, 16), 0),
                            Placement.IN_PLACE,
                            new Row.Result(new Timing(20, 50, 60, 32), 0)));

    private static Setting setting() {
        return new Setting(
                new Host("1.2.3", "17", "a VM", "Linux 6", "amd64", 2),
                "gloo",
                new Availability.Available("0.5", "libgloo.so.0"),
                List.of("Rank  0 on here"),
                new BenchOptions(
                        List.of(Collective.ALL_REDUCE),
                        Optional.of("gloo"),
                        DataType.FLOAT32,
                        ReduceOp.SUM,
                        4,
                        1_000_000,
                        4,
                        Mode.SYNC,
                        OptionalInt.of(20),
                        OptionalInt.empty(),
                        1,
                        Optional.empty(),
                        Optional.empty(),
                        Optional.empty()));
    }

    private static List<String> table(Row row) {
        StringWriter text = new StringWriter();
        TableReport table = new TableReport(new PrintWriter(text), setting());
        table.begin(row.collective());
        table.row(row);
        table.end(row.collective());
        return text.toString().lines().toList();
    }

    @Test
    void bandwidthsFollowFromTheMedian() {
        Row.Result result = ALL_REDUCE.results().get(Placement.IN_PLACE);
        assertThat(ALL_REDUCE.algorithmBandwidth(result)).isEqualTo(2.0);
        assertThat(ALL_REDUCE.busBandwidth(result)).isEqualTo(3.0);
    }

    @Test
    void tableHasTheColumnsOfNcclTests() {
        assertThat(table(ALL_REDUCE))
                .contains(
                        "#       size         count      type   redop    root"
                                + "     time   algbw   busbw  #wrong"
                                + "     time   algbw   busbw  #wrong",
                        "     1000000        250000     float     sum      -1"
                                + "      N/A     N/A     N/A     N/A"
                                + "   500.00    2.00    3.00       3")
                .allMatch(line -> line.startsWith("#") || line.startsWith("     1000000"));
    }

    @Test
    void tableEndsWithTheVerdictAndTheMeanBusBandwidth() {
        assertThat(table(ALL_REDUCE))
                .contains(
                        "# Out of bounds values : 3 FAILED",
                        "# Avg bus bandwidth    : 3.00",
                        "# Collective test concluded: all_reduce");
        assertThat(table(ALL_GATHER)).contains("# Out of bounds values : 0 OK");
    }

    @Test
    void tableHasBothFormsWhereThereAreBoth() {
        assertThat(table(ALL_GATHER))
                .contains(
                        "        2048          1024    f8e4m3    none      -1"
                                + "   100.00    0.02    0.01       0"
                                + "    50.00    0.04    0.02       0");
    }

    @ParameterizedTest
    @CsvSource({
        "0,7,0.00",
        "9999.99,7,9999.99",
        "12345.67,7,12345.7",
        "1234567.8,7,1234568",
        "12345678,7,1.2e+07",
        "123456,6,123456",
        "0.004,6,0.00"
    })
    void numbersLoseDecimalsToFit(double value, int width, String text) {
        assertThat(TableReport.number(value, width)).isEqualTo(text);
    }

    @Test
    void csvHasOneLineARow(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("out.csv");
        try (CsvReport report = new CsvReport(file, "gloo")) {
            report.row(ALL_REDUCE);
            report.row(ALL_GATHER);
        }
        assertThat(Files.readAllLines(file))
                .containsExactly(
                        "backend,op,dtype,ranks,bytes,iters,median_us,p99_us,algbw_GBps,"
                                + "busbw_GBps,alloc_bytes_per_op,wrong",
                        "gloo,all_reduce,float32,4,1000000,20,500.000,750.500,2.000000,3.000000,"
                                + "0.0,3",
                        "gloo,all_gather,float8_e4m3,2,2048,20,100.000,200.000,0.020480,0.010240,"
                                + "16.0,0");
    }

    @Test
    void jsonHasAllFormsAndTheVersions(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("out.json");
        try (JsonReport report = new JsonReport(file, setting())) {
            report.row(ALL_GATHER);
        }
        assertThat(Files.readString(file))
                .contains("\"jccl\" : \"1.2.3\"", "\"version\" : \"0.5\"")
                .contains("\"placement\" : \"out-of-place\"", "\"placement\" : \"in-place\"")
                .contains("\"median_us\" : 100.0", "\"alloc_bytes_per_op\" : 32.0")
                .endsWith("}");
    }

    @Test
    void aFileThatCanNotBeWrittenIsNamed() {
        Path full = Path.of("/dev/full");
        assertThatThrownBy(
                        () -> {
                            try (CsvReport report = new CsvReport(full, "gloo")) {
                                report.row(ALL_REDUCE);
                            }
                        })
                .isInstanceOf(ReportException.class)
                .hasMessageContaining("/dev/full");
    }

    @Test
    void percentilesAreOfTheSortedTimes() {
        long[] nanos = new long[200];
        for (int i = 0; i < nanos.length; i++) {
            nanos[i] = (nanos.length - i) * 1000L;
        }
        assertThat(Timing.of(nanos.clone(), 1, 600)).isEqualTo(new Timing(200, 101, 199, 3));
        // What was enqueued together is shared between the calls.
        assertThat(Timing.of(nanos, 2, 1200)).isEqualTo(new Timing(400, 50.5, 99.5, 3));
    }
}

package org.jccl.cli.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Writes one line for each row: the out-of-place form if the operation has both. */
final class CsvReport implements Report {

    static final String HEADER =
            "backend,op,dtype,ranks,bytes,iters,median_us,p99_us,algbw_GBps,busbw_GBps,"
                    + "alloc_bytes_per_op,wrong";

    private final PrintWriter out;
    private final Path file;
    private final String backend;

    CsvReport(Path file, String backend) throws IOException {
        this.file = file;
        this.backend = backend;
        out = new PrintWriter(Files.newBufferedWriter(file, StandardCharsets.UTF_8));
        print(HEADER);
    }

    @Override
    public void row(Row row) {
        print(line(backend, row));
    }

    static String line(String backend, Row row) {
        Row.Result result = row.results().get(row.collective().placements().get(0));
        Stopwatch.Timing timing = result.timing();
        return String.format(
                Locale.ROOT,
                "%s,%s,%s,%d,%d,%d,%.3f,%.3f,%.6f,%.6f,%.1f,%d",
                backend,
                row.collective(),
                row.type().map(Object::toString).orElse("none"),
                row.ranks(),
                row.bytes(),
                timing.iterations(),
                timing.medianMicros(),
                timing.p99Micros(),
                row.algorithmBandwidth(result),
                row.busBandwidth(result),
                timing.allocatedBytes(),
                result.wrong());
    }

    private void print(String line) {
        out.print(line + "\n");
        if (out.checkError()) {
            throw new ReportException("cannot write to " + file, null);
        }
    }

    @Override
    public void close() {
        out.close();
    }
}

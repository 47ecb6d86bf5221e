package org.jccl.cli.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Collects all rows and draws them at the end. */
final class SvgReport implements Report {

    private final Path file;
    private final String backend;
    private final List<Measurement> measurements = new ArrayList<>();

    /**
     * Opens a report.
     *
     * @throws IOException if this Java cannot draw, before anything is measured
     */
    SvgReport(Path file, String backend) throws IOException {
        this.file = file;
        this.backend = backend;
        Plot.requireDrawing();
    }

    @Override
    public void row(Row row) {
        measurements.add(Measurement.of(row, backend));
    }

    @Override
    public void close() {
        if (measurements.isEmpty()) {
            return; // what ended the run says why
        }
        try {
            SvgPlot.write(Plot.of(measurements), file);
        } catch (IOException e) {
            throw new ReportException("cannot write to " + file + ": " + e.getMessage(), e);
        }
    }
}

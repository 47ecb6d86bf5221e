package org.jccl.cli.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jccl.Availability;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.cli.bench.Collective.Placement;
import org.jccl.cli.info.Bindings;
import org.jccl.cli.info.Host;
import org.jccl.spi.LocalHost;

/** Measures and checks operations on one group. It runs on all ranks and reports on rank 0. */
final class Benchmark {

    private static final int DESCRIPTION_BYTES = 256;

    private final ProcessGroup group;
    private final Device device;
    private final BenchOptions options;
    private final PrintWriter out;
    private final Progress progress;

    Benchmark(ProcessGroup group, BenchOptions options, PrintWriter out, Progress progress) {
        this.group = group;
        this.device = group.devices().get(0);
        this.options = options;
        this.out = out;
        this.progress = progress;
    }

    /**
     * Measures everything.
     *
     * @return wrong elements on all ranks, the same number on each
     * @throws IOException if a file of results cannot be opened
     * @throws ReportException if results cannot be written
     */
    long run() throws IOException {
        List<String> devices = describeRanks();
        List<Report> reports = new ArrayList<>();
        try (Stopwatch stopwatch =
                new Stopwatch(
                        group,
                        device,
                        options.iterations(),
                        options.warmUp(),
                        options.budgetSeconds())) {
            if (group.rank() == 0) {
                open(reports, setting(devices));
            }
            long wrong = 0;
            for (Collective collective : options.collectives(group.size())) {
                progress.clear();
                reports.forEach(report -> report.begin(collective));
                progress.restore();
                for (long count : options.counts(collective, group.size()).toArray()) {
                    Row row = measure(collective, count, stopwatch);
                    wrong += row.wrong();
                    progress.clear();
                    reports.forEach(report -> report.row(row));
                    progress.sizeDone();
                }
                progress.clear();
                reports.forEach(report -> report.end(collective));
            }
            return wrong;
        } finally {
            progress.clear();
            reports.forEach(Report::close);
        }
    }

    private void open(List<Report> reports, Setting setting) throws IOException {
        reports.add(new TableReport(out, setting));
        if (options.csv().isPresent()) {
            reports.add(new CsvReport(options.csv().get(), setting.backend()));
        }
        if (options.json().isPresent()) {
            reports.add(new JsonReport(options.json().get(), setting));
        }
        if (options.svg().isPresent()) {
            reports.add(new SvgReport(options.svg().get(), setting.backend()));
        }
    }

    private Row measure(Collective collective, long count, Stopwatch stopwatch) {
        Map<Placement, Row.Result> results = new EnumMap<>(Placement.class);
        for (Placement placement : collective.placements()) {
            try (Trial trial =
                    new Trial(
                            group,
                            device,
                            collective,
                            placement,
                            options.type(),
                            options.op(),
                            count)) {
                trial.fill();
                Stopwatch.Timing timing = stopwatch.time(trial.call(options.mode()));
                long own = trial.check(options.mode());
                long wrong = (long) stopwatch.agree(own, Double::sum);
                results.put(placement, new Row.Result(timing, wrong));
            }
        }
        return new Row(
                collective,
                collective.hasData() ? Optional.of(options.type()) : Optional.empty(),
                collective.reduces() ? Optional.of(redop(options.op())) : Optional.empty(),
                group.size(),
                collective.bytes(count, options.type(), group.size()),
                count,
                collective.hasRoot() ? Trial.ROOT : -1,
                results);
    }

    /** The reduction as nccl-tests writes it. */
    private static String redop(ReduceOp op) {
        return op.equals(ReduceOp.PRODUCT) ? "prod" : op.toString().toLowerCase(Locale.ROOT);
    }

    private Setting setting(List<String> devices) {
        String backend = group.backend(device.type()).orElseThrow();
        if (Bindings.availability(backend) instanceof Availability.Available found) {
            String measured = options.backend().orElse(backend);
            return new Setting(Host.current(), measured, found, devices, options);
        }
        throw new IllegalStateException("a group of " + backend + " was made without its library");
    }

    /** Collects a line from each rank. */
    private List<String> describeRanks() {
        String own =
                String.format(
                        Locale.ROOT,
                        "Rank %2d Group  0 Pid %6d on %10s device %s",
                        group.rank(),
                        ProcessHandle.current().pid(),
                        LocalHost.name(),
                        device);
        byte[] bytes = Arrays.copyOf(own.getBytes(StandardCharsets.UTF_8), DESCRIPTION_BYTES);
        try (Tensor input = Tensor.allocate(device, DataType.INT8, DESCRIPTION_BYTES);
                Tensor output =
                        Tensor.allocate(
                                device, DataType.INT8, (long) DESCRIPTION_BYTES * group.size())) {
            input.copyFrom(bytes);
            group.sync().allGatherSingle(output, input);
            byte[] all = output.copyTo(new byte[DESCRIPTION_BYTES * group.size()]);
            List<String> lines = new ArrayList<>();
            for (int rank = 0; rank < group.size(); rank++) {
                String line =
                        new String(
                                all,
                                rank * DESCRIPTION_BYTES,
                                DESCRIPTION_BYTES,
                                StandardCharsets.UTF_8);
                lines.add(line.replace("\0", ""));
            }
            return lines;
        }
    }
}

package org.jccl.cli.bench;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jccl.spi.PathSetting;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExecutionException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Draws the results of earlier runs of {@code jccl bench}. */
@Command(
        name = "plot",
        description = {
            "Plot results of jccl bench, of several runs or backends together: latency and bus"
                    + " bandwidth against size, on logarithmic axes, as SVG."
        },
        mixinStandardHelpOptions = true,
        footer = {
            "",
            "Examples:",
            "  jccl bench all_reduce --csv gloo.csv",
            "  mpirun -n 2 jccl bench all_reduce --backend mpi --csv mpi.csv",
            "  jccl plot gloo.csv mpi.csv -o backends.svg",
            "  jccl plot monday.json \"after the fix=tuesday.json\" -o fix.svg"
        })
public final class PlotCommand implements Callable<Integer> {

    @Spec private CommandSpec spec;

    @Parameters(
            arity = "1..*",
            paramLabel = "[NAME=]FILE",
            description =
                    "Files that jccl bench wrote with --json or --csv. Curves are named after"
                            + " their differences, or NAME.")
    private List<String> files;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            defaultValue = "bench.svg",
            description = "The plot to write. Default: ${DEFAULT-VALUE}.")
    private Path output;

    @Option(
            names = "--title",
            description = "Title of the plot. Default: the settings that all" + " runs share.")
    private String title;

    /** Creates the command, for picocli to fill. */
    public PlotCommand() {}

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        String fault = OutputFile.fault(output);
        if (fault != null) {
            throw new ParameterException(spec.commandLine(), "--output " + fault);
        }
        try {
            Plot plot = Plot.of(read());
            Plot.requireDrawing();
            SvgPlot.write(title == null ? plot : new Plot(title, plot.curves()), output);
            out.println(output + ": " + plot.curves().size() + " curves");
            out.flush();
            return 0;
        } catch (NoSuchFileException e) {
            throw new ExecutionException(spec.commandLine(), e.getMessage() + " does not exist");
        } catch (IOException | IllegalArgumentException e) {
            throw new ExecutionException(spec.commandLine(), e.getMessage());
        }
    }

    private List<Measurement> read() throws IOException {
        List<Measurement> measurements = new ArrayList<>();
        Set<String> sources = new HashSet<>();
        for (String argument : files) {
            int equals =
                    Files.exists(PathSetting.of("FILE", argument)) ? -1 : argument.indexOf('=');
            Path file = PathSetting.of("FILE", argument.substring(equals + 1));
            String source =
                    equals < 0
                            ? file.getFileName().toString().replaceFirst("\\.(json|csv)$", "")
                            : argument.substring(0, equals);
            if (!sources.add(source)) {
                throw new IOException(
                        "two files are called " + source + "; name them, as in NAME=" + file);
            }
            measurements.addAll(ReportFile.read(file, source, equals >= 0));
        }
        return measurements;
    }
}

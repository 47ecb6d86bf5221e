package org.jccl.cli.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.UsageException;
import org.jccl.bootstrap.ClusterEnvironment;
import org.jccl.cli.info.Bindings;
import org.jccl.launch.LaunchException;
import org.jccl.launch.ProcessLauncher;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Measures operations, and checks their results, in the manner of nccl-tests. */
@Command(
        name = "bench",
        description = {
            "Measure an operation and check its results; print the table of nccl-tests.",
            "Start the ranks, unless a launcher (jccl run, torchrun, mpirun, ...) did."
        },
        mixinStandardHelpOptions = true,
        footer = {
            "",
            "Examples:",
            "  jccl bench all_reduce                           # 2 ranks here, 4 B to 64 MB, Gloo",
            "  jccl bench all_reduce -g 4 -b 1K -e 16M --svg all_reduce.svg",
            "  jccl bench all -g 2 --csv all.csv               # every operation",
            "  jccl run -n 4 -- jccl bench all_gather          # inside a job: joins it",
            "  mpirun -n 4 jccl bench all_reduce --backend mpi",
            "",
            "Exits with 1 when a result was wrong or a rank failed."
        })
public final class BenchCommand implements Callable<Integer> {

    private static final int WRONG_RESULTS = 1;
    private static final String NO_PROGRESS = "--no-progress";
    private static final int DEFAULT_RANKS = 2;

    @Spec private CommandSpec spec;

    @Parameters(
            paramLabel = "OP",
            completionCandidates = Operations.class,
            description = "Operation, as PyTorch or nccl-tests name it, or 'all'.")
    private String operation;

    @Option(
            names = "--backend",
            completionCandidates = Backends.class,
            description = "Backend to measure. Default: the best one that can be used here.")
    private Optional<String> backend = Optional.empty();

    @Option(
            names = {"-g", "--ranks"},
            description = "Ranks to start on this host. Default: 2.")
    private Optional<Integer> ranks = Optional.empty();

    @Option(
            names = {"-b", "--minbytes"},
            defaultValue = "4",
            converter = ByteSize.class,
            description = "First size; takes K, M, G. Default: ${DEFAULT-VALUE}.")
    private long minBytes;

    @Option(
            names = {"-e", "--maxbytes"},
            defaultValue = "64M",
            converter = ByteSize.class,
            description = "Last size. Default: ${DEFAULT-VALUE}.")
    private long maxBytes;

    @Option(
            names = {"-f", "--stepfactor"},
            defaultValue = "4",
            description = "Factor from one size to the next. Default: ${DEFAULT-VALUE}.")
    private int factor;

    @Option(
            names = {"-d", "--datatype"},
            defaultValue = "float",
            description = "Element type. Default: ${DEFAULT-VALUE}.")
    private String type;

    @Option(
            names = {"-o", "--op"},
            defaultValue = "sum",
            description = "Reduction: sum prod min max avg band bor bxor. Default: sum.")
    private String reduceOp;

    @Option(
            names = "--mode",
            defaultValue = "sync",
            description = "sync: group.sync(); async: issue and await each. Default: sync.")
    private Mode mode;

    @Option(
            names = {"-n", "--iters"},
            description = "Timed calls of each row. Default: as many as the budget allows.")
    private Optional<Integer> iterations = Optional.empty();

    @Option(
            names = {"-w", "--warmup", "--warmup_iters"},
            description = "Calls before the timed ones. Default: a tenth of the budget.")
    private Optional<Integer> warmUp = Optional.empty();

    @Option(
            names = "--budget",
            defaultValue = "1",
            paramLabel = "SECONDS",
            description = "Time for one row. Default: ${DEFAULT-VALUE} s.")
    private double budgetSeconds;

    @Option(names = "--csv", paramLabel = "FILE", description = "Also write CSV to this file.")
    private Optional<Path> csv = Optional.empty();

    @Option(names = "--json", paramLabel = "FILE", description = "Also write JSON to this file.")
    private Optional<Path> json = Optional.empty();

    @Option(
            names = "--svg",
            paramLabel = "FILE",
            description =
                    "Also draw latency and bus bandwidth against size to this file. Several runs in"
                            + " one plot: see jccl plot.")
    private Optional<Path> svg = Optional.empty();

    @Option(
            names = NO_PROGRESS,
            description =
                    "Do not report progress on standard error. By default it is one line on a"
                            + " terminal, elsewhere one line every ten seconds.")
    private boolean noProgress;

    private Progress progress = Progress.none();

    /** Creates the command, for picocli to fill. */
    public BenchCommand() {}

    @Override
    public Integer call() throws IOException {
        Map<String, String> environment = System.getenv();
        boolean inJob =
                ClusterEnvironment.known().stream().anyMatch(known -> known.detect(environment));
        BenchOptions options = options();
        return inJob && !mayStartMore(environment) ? measure(options) : launch(options);
    }

    /** A shell of Slurm's is a job of one rank, from which the ranks may be started. */
    private boolean mayStartMore(Map<String, String> environment) {
        return ranks.orElse(1) > 1 && ClusterEnvironment.readFirst(environment).worldSize() == 1;
    }

    private int measure(BenchOptions options) throws IOException {
        ProcessGroupBuilder world = ProcessGroup.builder();
        options.backend().ifPresent(world::backend);
        try (ProcessGroup group = world.build()) {
            if (ranks.isPresent() && ranks.get() != group.size()) {
                throw refused("-g is " + ranks.get() + ", but the job has " + group.size());
            }
            if (group.rank() == 0) {
                progress = progress(options, group.size());
            }
            long wrong = new Benchmark(group, options, spec.commandLine().getOut(), progress).run();
            return wrong == 0 ? 0 : WRONG_RESULTS;
        }
    }

    private int launch(BenchOptions options) {
        CommandSpec jccl = spec.root();
        List<String> arguments =
                new ArrayList<>(jccl.commandLine().getParseResult().originalArgs());
        // Progress is printed here, where standard error belongs to the user.
        if (!noProgress) {
            arguments.add(NO_PROGRESS);
        }
        progress = progress(options, ranks.orElse(DEFAULT_RANKS));
        try {
            ProcessLauncher.builder(ranks.orElse(DEFAULT_RANKS))
                    .mainClass(jccl.userObject().getClass(), arguments.toArray(String[]::new))
                    .output(this::show)
                    .build()
                    .run();
            return 0;
        } catch (LaunchException e) {
            progress.clear();
            spec.commandLine().getErr().println("jccl: " + e.getMessage());
            return e.exitCode();
        }
    }

    /** Prints rank 0's table as this command's own output, and other lines with their rank. */
    private synchronized void show(int rank, boolean error, String line) {
        progress.clear();
        if (rank == 0 && !error) {
            spec.commandLine().getOut().println(line);
            if (!line.isBlank() && !line.startsWith("#")) {
                progress.sizeDone();
                return;
            }
        } else {
            spec.commandLine().getErr().println("[" + rank + "] " + line);
        }
        progress.restore();
    }

    private Progress progress(BenchOptions options, int size) {
        return noProgress
                ? Progress.none()
                : new Progress(
                        spec.commandLine().getErr(),
                        Progress.isTerminal(),
                        options.sizes(size),
                        System::nanoTime);
    }

    private BenchOptions options() {
        require(minBytes >= 1 && minBytes <= maxBytes, "-b must be from 1 to the size of -e");
        require(factor >= 2 && factor <= 1024, "-f must be from 2 to 1024");
        require(ranks.orElse(1) >= 1, "-g must be at least 1");
        require(iterations.orElse(1) >= 1, "-n must be at least 1");
        require(iterations.orElse(1) <= Stopwatch.MOST, "-n is at most " + Stopwatch.MOST);
        require(warmUp.orElse(0) >= 0, "-w must not be negative");
        require(
                budgetSeconds > 0 && budgetSeconds <= 3600,
                "--budget must be more than 0 and at most 3600 s");
        csv.ifPresent(file -> requireWritable("--csv", file));
        json.ifPresent(file -> requireWritable("--json", file));
        svg.ifPresent(file -> requireWritable("--svg", file));
        List<Collective> collectives = collectives();
        require(
                svg.isEmpty() || collectives.stream().anyMatch(Collective::hasData),
                "--svg plots against size, and " + operation + " has no size");
        DataType dataType = parsed(() -> DataType.parse(type));
        ReduceOp op = parsed(() -> ReduceOp.parse(reduceOp));
        if (collectives.stream().anyMatch(Collective::reduces)) {
            require(op.supports(dataType), reduceOp + " is not defined for " + dataType);
            require(!dataType.isFloat8(), dataType + " can be moved here, but not be reduced");
        }
        return new BenchOptions(
                collectives,
                backend.map(name -> name.toLowerCase(Locale.ROOT)),
                dataType,
                op,
                minBytes,
                maxBytes,
                factor,
                mode,
                optional(iterations),
                optional(warmUp),
                budgetSeconds,
                csv,
                json,
                svg);
    }

    private List<Collective> collectives() {
        if (operation.equals("all")) {
            return List.of(Collective.values());
        }
        Collective one =
                Collective.parse(operation)
                        .orElseThrow(
                                () ->
                                        refused(
                                                "unknown operation '"
                                                        + operation
                                                        + "'; known: all "
                                                        + Collective.names()));
        return List.of(one);
    }

    private static OptionalInt optional(Optional<Integer> value) {
        return value.map(OptionalInt::of).orElseGet(OptionalInt::empty);
    }

    private <T> T parsed(Supplier<T> parser) {
        try {
            return parser.get();
        } catch (UsageException e) {
            throw refused(e.reason());
        }
    }

    /** Checks a file before ranks are started, of which only one writes it. */
    private void requireWritable(String option, Path file) {
        String fault = OutputFile.fault(file);
        require(fault == null, option + " " + fault);
    }

    private void require(boolean condition, String message) {
        if (!condition) {
            throw refused(message);
        }
    }

    private ParameterException refused(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    /** For completion. */
    static final class Operations implements Iterable<String> {

        @Override
        public Iterator<String> iterator() {
            return Stream.concat(
                            Stream.of("all"),
                            Arrays.stream(Collective.values()).map(Collective::toString))
                    .iterator();
        }
    }

    /** For completion. */
    static final class Backends implements Iterable<String> {

        @Override
        public Iterator<String> iterator() {
            return Bindings.KNOWN.iterator();
        }
    }
}

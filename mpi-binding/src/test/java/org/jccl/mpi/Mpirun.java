package org.jccl.mpi;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jccl.conformance.Ranks;
import org.junit.jupiter.api.Assumptions;

/** The launchers of both families, and what a job printed. */
enum Mpirun {
    /** Jobs run beside each other, so a rank that waits must yield. */
    OPEN_MPI(
            "mpirun.openmpi",
            List.of(
                    "--allow-run-as-root",
                    "--oversubscribe",
                    "--bind-to",
                    "none",
                    "--mca",
                    "mpi_yield_when_idle",
                    "1")),
    MPICH("mpirun.mpich", List.of());

    /** How a job ended. */
    record Outcome(int code, String output) {}

    /** Several jobs of four ranks run at once, and one of them takes 75 s alone on two cores. */
    private static final Duration DEADLINE = Ranks.onThisHost(480);

    /**
     * Launchers pass on what ranks print in pieces, between which those of another rank may come.
     */
    private static final String TO_OWN_FILE =
            "exec \"$@\" >>\"$0/rank.${OMPI_COMM_WORLD_RANK-$PMI_RANK}\" 2>&1";

    private final String launcher;
    private final List<String> options;

    Mpirun(String launcher, List<String> options) {
        this.launcher = launcher;
        this.options = options;
    }

    /** A program of this test's class path. */
    static List<String> java(Class<?> main, List<String> jvmOptions, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        command.add("-Dorg.jccl.conformance.slowness=" + Ranks.SLOWNESS);
        command.addAll(jvmOptions);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        return command;
    }

    /** Skips the test where this launcher is not installed. */
    void assumeInstalled() {
        boolean found = false;
        for (String directory : System.getenv("PATH").split(":")) {
            found |= Files.isExecutable(Path.of(directory, launcher));
        }
        Assumptions.assumeTrue(found, launcher + " is not installed");
    }

    Outcome run(int ranks, Class<?> main, String... arguments) {
        return run(ranks, java(main, List.of(), arguments));
    }

    Outcome run(int ranks, List<String> program) {
        return launch(files -> toOwnFile(files, ranks, program));
    }

    /** Runs one world of two programs: one rank of the first, the others of the second. */
    Outcome runTogether(List<String> first, int others, List<String> second) {
        return launch(
                files -> {
                    List<String> programs = toOwnFile(files, 1, first);
                    programs.add(":");
                    programs.addAll(toOwnFile(files, others, second));
                    return programs;
                });
    }

    private static List<String> toOwnFile(Path files, int ranks, List<String> program) {
        List<String> command = new ArrayList<>(List.of("-n", Integer.toString(ranks)));
        command.addAll(List.of("sh", "-c", TO_OWN_FILE, files.toString()));
        command.addAll(program);
        return command;
    }

    /** What the launcher printed is followed by what each rank did. */
    private Outcome launch(Function<Path, List<String>> programs) {
        List<String> command = new ArrayList<>(List.of(launcher));
        command.addAll(options);
        try {
            Path files = Files.createTempDirectory("jccl-mpirun");
            command.addAll(programs.apply(files));
            try {
                Outcome outcome = run(command, Map.of());
                return new Outcome(outcome.code(), outcome.output() + "\n" + taken(files));
            } catch (AssertionError e) {
                throw new AssertionError(e.getMessage() + "\n" + taken(files), e);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String taken(Path files) throws IOException {
        StringBuilder text = new StringBuilder();
        try (Stream<Path> ranks = Files.list(files)) {
            for (Path rank : ranks.sorted().toList()) {
                text.append(Files.readString(rank)).append('\n');
                Files.delete(rank);
            }
        }
        Files.delete(files);
        return text.toString();
    }

    /** Runs any launcher, with variables that are added. */
    static Outcome run(List<String> command, Map<String, String> environment) {
        try {
            Path output = Files.createTempFile("jccl-mpirun", ".txt");
            ProcessBuilder builder =
                    new ProcessBuilder(command)
                            .redirectErrorStream(true)
                            .redirectOutput(output.toFile());
            builder.environment().putAll(environment);
            Process process = builder.start();
            boolean ended = process.waitFor(DEADLINE.toMillis(), TimeUnit.MILLISECONDS);
            if (!ended) {
                process.destroy();
                process.waitFor();
            }
            String text = Files.readString(output);
            Files.delete(output);
            if (!ended) {
                throw new AssertionError(command + " did not end:\n" + text);
            }
            return new Outcome(process.exitValue(), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while " + command + " ran", e);
        }
    }
}

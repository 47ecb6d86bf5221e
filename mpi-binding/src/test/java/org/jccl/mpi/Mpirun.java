package org.jccl.mpi;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;

/** The launchers of both families, and what a job printed. */
enum Mpirun {
    OPEN_MPI(
            "mpirun.openmpi",
            List.of("--allow-run-as-root", "--oversubscribe", "--bind-to", "none")),
    MPICH("mpirun.mpich", List.of());

    /** How a job ended. */
    record Outcome(int code, String output) {}

    private static final long DEADLINE_SECONDS = 240;

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
        List<String> command = new ArrayList<>(List.of(launcher));
        command.addAll(options);
        command.addAll(List.of("-n", Integer.toString(ranks)));
        command.addAll(program);
        return run(command, Map.of());
    }

    /** Runs one world of two programs: one rank of the first, the others of the second. */
    Outcome runTogether(List<String> first, int others, List<String> second) {
        List<String> programs = new ArrayList<>(first);
        programs.addAll(List.of(":", "-n", Integer.toString(others)));
        programs.addAll(second);
        return run(1, programs);
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
            boolean ended = process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS);
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

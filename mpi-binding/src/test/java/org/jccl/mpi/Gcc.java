package org.jccl.mpi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Compiles what tests need of C and C++; there is a compiler wherever this module was built. */
final class Gcc {

    /** The shim's sources, seen from any module. */
    static final Path SHIM = shim();

    private Gcc() {}

    private static Path shim() {
        Path directory = Path.of("").toAbsolutePath();
        while (!Files.exists(directory.resolve("native/mpi"))) {
            directory = directory.getParent();
        }
        return directory.resolve("native/mpi");
    }

    /** Makes a shared library of a source below {@link #SHIM}. */
    static Path library(String source, Path library, String... options) throws Exception {
        List<String> arguments =
                new ArrayList<>(List.of("-std=c++17", "-O1", "-shared", "-fPIC", "-Wall"));
        arguments.addAll(List.of("-Wextra", "-Werror", "-fvisibility=hidden", "-Wl,-z,defs"));
        arguments.addAll(List.of("-Wl,-soname," + library.getFileName(), "-I" + SHIM));
        arguments.addAll(Arrays.asList(options));
        arguments.addAll(List.of(SHIM.resolve(source).toString(), "-o", library.toString()));
        run("g++", arguments.toArray(String[]::new));
        return library;
    }

    /** Runs a compiler, which must succeed without a word. */
    static void run(String compiler, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(compiler));
        command.addAll(Arrays.asList(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(said).isZero();
        assertThat(said).isEmpty();
    }
}

package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jccl.Availability;
import org.jccl.spi.support.NativeLibraries;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the loader does with real libraries in JVMs of their own. */
@Tag("all")
class ColdStartTest {

    /** Loads Gloo and prints the files of it that are mapped. */
    static final class Main {

        private Main() {}

        public static void main(String[] args) throws IOException {
            Availability availability = new GlooProvider().availability();
            System.out.println(availability);
            try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
                maps.filter(line -> line.contains("libjccl_gloo"))
                        .map(line -> line.substring(line.indexOf('/')))
                        .distinct()
                        .forEach(System.out::println);
            }
        }
    }

    private static Process start(Path cache, Path output) throws IOException {
        return start(cache, output, System.getProperty("java.class.path"));
    }

    private static Process start(Path cache, Path output, String classPath) throws IOException {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-D" + NativeLibraries.CACHE_PROPERTY + "=" + cache,
                        "-cp",
                        classPath,
                        Main.class.getName())
                // Where newer versions of Java warn of native libraries.
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .redirectOutput(output.toFile())
                .start();
    }

    private static void assertLoadedFrom(Path cache, Path output) throws IOException {
        List<String> lines = Files.readAllLines(output);
        assertThat(lines.get(0)).startsWith("Available");
        assertThat(lines.subList(1, lines.size()))
                .hasSize(1)
                .allMatch(line -> line.startsWith(cache.toString()));
    }

    @Test
    void eightProcessesMayStartOnAnEmptyCache(@TempDir Path directory) throws Exception {
        Path cache = directory.resolve("cache");
        List<Process> processes = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            processes.add(start(cache, directory.resolve("out" + i)));
        }
        for (int i = 0; i < processes.size(); i++) {
            assertThat(processes.get(i).waitFor()).isZero();
            assertLoadedFrom(cache, directory.resolve("out" + i));
        }
    }

    @Test
    void needsNoClassOfJavaCpp(@TempDir Path directory) throws Exception {
        String without =
                Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                        .filter(
                                each ->
                                        !Path.of(each)
                                                .getFileName()
                                                .toString()
                                                .matches("javacpp.*"))
                        .collect(Collectors.joining(File.pathSeparator));
        Path output = directory.resolve("out");
        assertThat(start(directory.resolve("cache"), output, without).waitFor()).isZero();
        assertThat(Files.readAllLines(output).get(0)).startsWith("Available");
    }

    @Test
    void aCorruptedLibraryIsReplaced(@TempDir Path directory) throws Exception {
        Path cache = directory.resolve("cache");
        Path output = directory.resolve("out");
        assertThat(start(cache, output).waitFor()).isZero();
        try (Stream<Path> files = Files.walk(cache)) {
            for (Path library : files.filter(Files::isRegularFile).toList()) {
                byte[] content = Files.readAllBytes(library);
                content[content.length / 2] ^= 1;
                Files.write(library, content);
            }
        }
        assertThat(start(cache, output).waitFor()).isZero();
        assertLoadedFrom(cache, output);
    }
}

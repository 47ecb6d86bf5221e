package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.spi.ToolProvider;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.store.TcpStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.loader.launch.JarLauncher;

/** Programs that start ranks of themselves, and whose main class is not on the class path. */
@Timeout(120)
final class OwnStartTest {

    private static final String PROGRAM =
            """
            import org.jccl.launch.ProcessLauncher;

            public final class Program {
                public static void main(String[] arguments) {
                    if (arguments.length == 0) {
                        ProcessLauncher.spawn(2, Program.class, "a rank");
                    } else {
                        System.out.println(arguments[0] + " of " + System.getenv("WORLD_SIZE"));
                    }
                }
            }
            """;

    @TempDir private Path folder;

    private static Path placeOf(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    private static List<Path> libraries() throws Exception {
        return List.of(
                placeOf(Store.class), placeOf(TcpStore.class), placeOf(ProcessLauncher.class));
    }

    private static String classPath() throws Exception {
        return String.join(File.pathSeparator, libraries().stream().map(Path::toString).toList());
    }

    private Path source() throws IOException {
        Path spaces = Files.createDirectories(folder.resolve("with a space"));
        return Files.writeString(spaces.resolve("Program.java"), PROGRAM);
    }

    private Path compiled() throws Exception {
        Path classes = Files.createDirectories(folder.resolve("classes"));
        tool("javac", "-cp", classPath(), "-d", classes.toString(), source().toString());
        return classes;
    }

    private static void tool(String name, String... arguments) {
        ToolProvider tool = ToolProvider.findFirst(name).orElseThrow();
        assertThat(tool.run(System.out, System.err, arguments)).as(name).isZero();
    }

    private String java(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(JavaCommand.ownExecutable().toString()));
        command.addAll(List.of(arguments));
        Path output = folder.resolve("output");
        Process process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        try {
            process.waitFor();
        } finally {
            process.destroyForcibly();
        }
        return Files.readString(output);
    }

    @Test
    void ranksOfASourceFileRunTheSourceFile() throws Exception {
        assertThat(java("-cp", classPath(), source().toString()))
                .contains("[0] a rank of 2", "[1] a rank of 2");
    }

    @Test
    void ranksOfASpringBootJarRunTheJar() throws Exception {
        assertThat(java("-jar", springBootJar().toString()))
                .contains("[0] a rank of 2", "[1] a rank of 2");
    }

    private Path springBootJar() throws Exception {
        Path content = folder.resolve("content");
        unpackLoader(content);
        Path nested = Files.createDirectories(content.resolve("BOOT-INF/lib"));
        for (Path library : libraries()) {
            Path jar = nested.resolve("library" + library.toString().hashCode() + ".jar");
            if (Files.isDirectory(library)) {
                tool("jar", "-c", "-f", jar.toString(), "-C", library.toString(), ".");
            } else {
                Files.copy(library, jar);
            }
        }
        Path classes = Files.createDirectories(content.resolve("BOOT-INF/classes"));
        Files.copy(compiled().resolve("Program.class"), classes.resolve("Program.class"));
        Path manifest =
                Files.writeString(
                        folder.resolve("manifest"),
                        """
                        Main-Class: %s
                        Start-Class: Program
                        Spring-Boot-Classes: BOOT-INF/classes/
                        Spring-Boot-Lib: BOOT-INF/lib/
                        """
                                .formatted(JarLauncher.class.getName()));
        Path app = folder.resolve("app.jar");
        tool(
                "jar",
                "-c",
                "-f",
                app.toString(),
                "-m",
                manifest.toString(),
                "-0",
                "-C",
                content.toString(),
                ".");
        return app;
    }

    private static void unpackLoader(Path content) throws Exception {
        try (JarFile loader = new JarFile(placeOf(JarLauncher.class).toFile())) {
            for (JarEntry entry : (Iterable<JarEntry>) loader.stream()::iterator) {
                if (!entry.isDirectory() && !entry.getName().equals(JarFile.MANIFEST_NAME)) {
                    Path file = content.resolve(entry.getName());
                    Files.createDirectories(file.getParent());
                    try (InputStream in = loader.getInputStream(entry)) {
                        Files.copy(in, file);
                    }
                }
            }
        }
    }

    @Test
    void aClassThatRanksCannotFindIsRefusedBeforeAnythingStarts() throws Exception {
        URL[] urls = {compiled().toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(urls, getClass().getClassLoader())) {
            Class<?> program = Class.forName("Program", true, loader);
            assertThatThrownBy(() -> ProcessLauncher.spawn(2, program))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("the ranks cannot find Program")
                    .hasMessageContaining("command(...)");
        }
    }
}

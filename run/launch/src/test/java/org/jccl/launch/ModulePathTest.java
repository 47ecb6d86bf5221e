package org.jccl.launch;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.spi.ToolProvider;
import org.jccl.Store;
import org.jccl.store.TcpStore;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program of modules starts ranks of itself. */
final class ModulePathTest {

    private static final String MODULE = "module app { requires org.jccl.launch; }\n";

    private static final String MAIN =
            """
            package app;

            import org.jccl.launch.ProcessLauncher;

            public final class Main {
                public static void main(String[] arguments) {
                    if (arguments.length == 0) {
                        ProcessLauncher.spawn(2, Main.class, "a rank");
                    } else {
                        System.out.println(arguments[0] + " of " + Main.class.getModule());
                    }
                }
            }
            """;

    @TempDir Path folder;

    private Path modules;

    @BeforeEach
    void compile() throws IOException, URISyntaxException {
        // A folder of modules, as programs are shipped; a class path would not look into it.
        modules = Files.createDirectory(folder.resolve("modules"));
        addModule("api.jar", Store.class);
        addModule("store.jar", TcpStore.class);
        addModule("launch.jar", ProcessLauncher.class);
        Path sources = Files.createDirectories(folder.resolve("src/app"));
        Path module = Files.writeString(sources.resolveSibling("module-info.java"), MODULE);
        Path main = Files.writeString(sources.resolve("Main.java"), MAIN);
        run(
                "javac",
                "-p",
                modules.toString(),
                "-d",
                modules.resolve("app").toString(),
                module.toString(),
                main.toString());
    }

    /** Of a folder of classes or, where the whole project is built, of a jar. */
    private void addModule(String name, Class<?> one) throws IOException, URISyntaxException {
        Path classes = Path.of(one.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path jar = modules.resolve(name);
        if (Files.isDirectory(classes)) {
            run("jar", "--create", "--file", jar.toString(), "-C", classes.toString(), ".");
        } else {
            Files.copy(classes, jar);
        }
    }

    private static void run(String tool, String... arguments) {
        int status =
                ToolProvider.findFirst(tool).orElseThrow().run(System.out, System.err, arguments);
        assertThat(status).as(tool + " " + Arrays.toString(arguments)).isZero();
    }

    private String launch(Path java, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(java.toString()));
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
    void ranksAreOfTheModule() throws Exception {
        String said =
                launch(JavaCommand.ownExecutable(), "-p", modules.toString(), "-m", "app/app.Main");
        assertThat(said)
                .contains("[0] a rank of module app", "[1] a rank of module app")
                .doesNotContain("WARNING");
    }

    @Test
    void ranksRunInAnImage() throws Exception {
        Path image = folder.resolve("image");
        run(
                "jlink",
                "-p",
                modules + File.pathSeparator + Path.of(System.getProperty("java.home"), "jmods"),
                "--add-modules",
                "app",
                "--output",
                image.toString());
        assertThat(launch(image.resolve("bin/java"), "-m", "app/app.Main"))
                .contains("[0] a rank of module app", "[1] a rank of module app");
    }

    @Test
    void ranksOfAClassPathAreOfNoModule() throws Exception {
        String said =
                launch(
                        JavaCommand.ownExecutable(),
                        "-cp",
                        String.join(
                                File.pathSeparator,
                                modules.resolve("app").toString(),
                                modules.resolve("api.jar").toString(),
                                modules.resolve("store.jar").toString(),
                                modules.resolve("launch.jar").toString()),
                        "app.Main");
        assertThat(said).contains("[0] a rank of unnamed module", "[1] a rank of unnamed module");
    }
}

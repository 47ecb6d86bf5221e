package org.jccl.spi.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.jccl.BackendUnavailableException;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Directories that Java cannot represent as a path, because {@code LC_ALL=C} knows ASCII only. */
@Timeout(120)
class NonAsciiPathTest {

    private static final String STRANGE = "/nowhere/j\u00f6rg";

    @TempDir private Path directory;

    /** Loads what is no library, and has another loader unpack. */
    static final class Main {

        private Main() {}

        public static void main(String[] arguments) {
            print(
                    () ->
                            NativeLibraries.load(
                                            "org.example:binding",
                                            name -> new ByteArrayInputStream(new byte[] {1}),
                                            List.of("libone.so"),
                                            path -> {})
                                    .getParent());
            print(
                    () -> {
                        NativeLibraries.unpackPrivately("test.unpack", Optional.empty());
                        return Path.of(System.getProperty("test.unpack")).getParent();
                    });
        }

        private static void print(Supplier<Path> step) {
            try {
                System.out.println("used " + step.get());
            } catch (BackendUnavailableException e) {
                System.out.println("unavailable " + e.getMessage());
            }
        }
    }

    private String run(Map<String, String> environment, String home, String temporary)
            throws Exception {
        List<String> arguments = new ArrayList<>();
        arguments.add("-Duser.home=" + home);
        arguments.add("-Djava.io.tmpdir=" + temporary);
        // Set for all tests, but here the directories that users have are looked at.
        arguments.add("-D" + NativeLibraries.CACHE_PROPERTY + "=");
        return ChildJvm.outputInAscii(
                directory.resolve("script"),
                Main.class,
                environment,
                arguments.toArray(String[]::new));
    }

    private String fallback() throws IOException {
        return "used " + directory.resolve("tmp/jccl-" + PrivateDirectory.ownUser());
    }

    @Test
    void aHomeThatIsNoPathIsSkipped() throws Exception {
        Files.createDirectory(directory.resolve("tmp"));
        assertThat(run(Map.of("XDG_CACHE_HOME", ""), STRANGE, directory.resolve("tmp").toString()))
                .containsSubsequence(fallback(), fallback());
    }

    @Test
    void aCacheHomeThatIsNoPathIsSkipped() throws Exception {
        assertThat(run(Map.of("XDG_CACHE_HOME", STRANGE), directory.toString(), STRANGE))
                .containsSubsequence(
                        "used " + directory.resolve(".cache/jccl"),
                        "used " + directory.resolve(".cache/jccl"));
    }

    @Test
    void withoutAnyPathTheErrorSaysWhatWasTriedAndWhatToDo() throws Exception {
        String[] tried = {
            "unavailable",
            "environment variable XDG_CACHE_HOME is '/nowhere/j",
            "which cannot be a path",
            "LC_ALL=C.UTF-8",
            "system property user.home is '/nowhere/j",
            "system property java.io.tmpdir is '/nowhere/j",
            "Set -D"
        };
        String output = run(Map.of("XDG_CACHE_HOME", STRANGE), STRANGE, STRANGE);
        int second = output.lastIndexOf("unavailable");
        assertThat(output.substring(0, second)).containsSubsequence(tried);
        assertThat(output.substring(second)).containsSubsequence(tried);
    }
}

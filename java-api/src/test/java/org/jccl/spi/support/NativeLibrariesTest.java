package org.jccl.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jccl.BackendUnavailableException;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@ResourceLock(Resources.SYSTEM_PROPERTIES)
class NativeLibrariesTest {

    private static final String ARTIFACT = "org.example:binding";

    private static final List<String> NAMES = List.of("libone.so.1", "libtwo.so");

    @TempDir private Path cache;

    private final List<String> loaded = new ArrayList<>();
    private String before;

    @BeforeEach
    void useTheCache() {
        before = System.setProperty(NativeLibraries.CACHE_PROPERTY, cache.toString());
    }

    @AfterEach
    void restore() {
        if (before == null) {
            System.clearProperty(NativeLibraries.CACHE_PROPERTY);
        } else {
            System.setProperty(NativeLibraries.CACHE_PROPERTY, before);
        }
    }

    private static NativeLibraries.Resources version(String version) {
        return name -> new ByteArrayInputStream((version + name).getBytes(StandardCharsets.UTF_8));
    }

    private Path load(String version) {
        return NativeLibraries.load(ARTIFACT, version(version), NAMES, loaded::add);
    }

    @Test
    void loadsFromOneDirectoryInTheOrderGiven() throws IOException {
        Path directory = load("1 ");
        assertThat(directory.getParent()).isEqualTo(cache);
        assertThat(loaded)
                .containsExactly(
                        directory.resolve("libone.so.1").toString(),
                        directory.resolve("libtwo.so").toString());
        assertThat(directory.resolve("libtwo.so")).hasContent("1 libtwo.so");
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files.map(Path::getFileName).map(Path::toString))
                    .containsExactlyInAnyOrderElementsOf(NAMES);
        }
    }

    @Test
    void anotherVersionHasAnotherDirectory() {
        assertThat(load("1 ")).isNotEqualTo(load("2 "));
        assertThat(load("1 ")).isEqualTo(load("1 "));
    }

    @Test
    void repairsWhatWasCutOffAndWhatWasChanged() throws IOException {
        Path directory = load("1 ");
        Files.writeString(directory.resolve("libone.so.1"), "1");
        Files.writeString(directory.resolve("libtwo.so"), "X libtwo.so");
        load("1 ");
        assertThat(directory.resolve("libone.so.1")).hasContent("1 libone.so.1");
        assertThat(directory.resolve("libtwo.so")).hasContent("1 libtwo.so");
    }

    /** Writes a library that is larger than the JVM's direct memory, then compares it. */
    static final class LargeLibrary {

        private LargeLibrary() {}

        public static void main(String[] arguments) {
            for (int i = 0; i < 2; i++) {
                NativeLibraries.load(
                        ARTIFACT,
                        name -> new ByteArrayInputStream(new byte[1_000_001]),
                        NAMES,
                        path -> {});
            }
            System.out.println("loaded");
        }
    }

    @Test
    void needsLittleDirectMemory() throws Exception {
        assertThat(
                        ChildJvm.outputOf(
                                LargeLibrary.class,
                                Map.of(),
                                "-XX:MaxDirectMemorySize=128k",
                                "-D" + NativeLibraries.CACHE_PROPERTY + "=" + cache))
                .contains("loaded");
    }

    @Test
    void aFileThatTheJarLacksIsNamed() {
        assertThatThrownBy(() -> NativeLibraries.load(ARTIFACT, name -> null, NAMES, loaded::add))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("libone.so.1")
                .hasMessageContaining("artifact " + ARTIFACT)
                .hasMessageContaining("the classifier " + NativeLibraries.platform());
    }

    @ParameterizedTest
    @CsvSource({
        "Linux, amd64, linux-x86_64",
        "Linux, aarch64, linux-arm64",
        "Linux, riscv64, linux-riscv64",
        "Mac OS X, aarch64, mac-os-x-arm64"
    })
    void namesThePlatform(String system, String processor, String platform) {
        String ownSystem = System.setProperty("os.name", system);
        String ownProcessor = System.setProperty("os.arch", processor);
        try {
            assertThat(NativeLibraries.platform()).isEqualTo(platform);
        } finally {
            System.setProperty("os.name", ownSystem);
            System.setProperty("os.arch", ownProcessor);
        }
    }

    @Test
    void tellsWhyTheLinkerRefusedAndWhatToSet() {
        assertThatThrownBy(
                        () ->
                                NativeLibraries.load(
                                        ARTIFACT,
                                        version("1 "),
                                        NAMES,
                                        path -> {
                                            throw new UnsatisfiedLinkError(
                                                    path + ": failed to map segment");
                                        }))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining(cache.toString())
                .hasMessageContaining("noexec")
                .hasMessageContaining("-D" + NativeLibraries.CACHE_PROPERTY)
                .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
    }

    @Test
    void doesNotLoadFromADirectoryThatOthersMayWriteTo() throws IOException {
        Path directory = load("1 ");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        loaded.clear();
        load("1 ");
        assertThat(loaded).hasSize(2).noneMatch(path -> path.startsWith(directory.toString()));
    }

    @Test
    void anotherClassLoaderGetsACopyThatIsDeleted() throws IOException {
        Path directory = load("1 ");
        List<String> first = List.copyOf(loaded);
        List<String> copies = new ArrayList<>();
        NativeLibraries.load(
                ARTIFACT,
                version("1 "),
                NAMES,
                path -> {
                    if (first.contains(path)) {
                        throw new UnsatisfiedLinkError(
                                "Native Library "
                                        + path
                                        + " already loaded in another classloader");
                    }
                    assertThat(Path.of(path)).hasContent("1 " + Path.of(path).getFileName());
                    copies.add(path);
                });
        assertThat(copies).hasSize(2).doesNotHaveDuplicates();
        try (Stream<Path> files = Files.list(directory)) {
            assertThat(files.map(Path::toString)).containsExactlyInAnyOrderElementsOf(first);
        }
    }

    @Test
    void aCacheThatIsAFileIsReported() throws IOException {
        Path file = Files.createFile(cache.resolve("file"));
        System.setProperty(NativeLibraries.CACHE_PROPERTY, file.toString());
        assertThatThrownBy(() -> load("1 "))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining(file.toString());
    }

    /** Java 24 and later throw this with --illegal-native-access=deny. */
    @Test
    void nativeAccessThatIsDeniedIsSaidSo() {
        IllegalCallerException denied =
                new IllegalCallerException("Illegal native access from module X");
        assertThatThrownBy(
                        () ->
                                NativeLibraries.load(
                                        ARTIFACT,
                                        version("1"),
                                        NAMES,
                                        path -> {
                                            throw denied;
                                        }))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("native access is denied")
                .hasMessageContaining("--enable-native-access=ALL-UNNAMED")
                .hasCause(denied);
        assertThat(LibrarySearch.messages(new ExceptionInInitializerError(denied)))
                .contains("native access is denied");
    }
}

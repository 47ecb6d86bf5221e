package org.jccl.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jccl.BackendUnavailableException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.Resources;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What another user of the host can do about the native libraries that this one loads. */
@ResourceLock(Resources.SYSTEM_PROPERTIES)
class PrivateDirectoryTest {

    private static final int NOBODY = 65534;
    private static final int ROOT = 0;
    private static final int DEADLINE_SECONDS = 60;
    private static final List<String> NAMES = List.of("libone.so");
    private static final byte[] CONTENT = "what the jar has".getBytes(StandardCharsets.UTF_8);

    private static final List<String> PROPERTIES =
            List.of(NativeLibraries.CACHE_PROPERTY, "user.home", "java.io.tmpdir", "test.unpack");

    @TempDir private Path directory;

    private final List<String> loaded = new ArrayList<>();
    private final List<String> before = new ArrayList<>();

    /** As on a host whose users cannot write to their home directory. */
    @BeforeEach
    void homeIsNotWritable() throws IOException {
        PROPERTIES.forEach(name -> before.add(System.getProperty(name)));
        Path home = Files.createFile(directory.resolve("home"));
        Path temporary = Files.createDirectory(directory.resolve("tmp"));
        mode(directory, "rwxr-xr-x");
        Files.setAttribute(temporary, "unix:mode", 01777);
        System.clearProperty(NativeLibraries.CACHE_PROPERTY);
        System.setProperty("user.home", home.toString());
        System.setProperty("java.io.tmpdir", temporary.toString());
        assumeTrue(System.getenv("XDG_CACHE_HOME") == null, "XDG_CACHE_HOME is set");
    }

    @AfterEach
    void restore() {
        for (int i = 0; i < PROPERTIES.size(); i++) {
            if (before.get(i) == null) {
                System.clearProperty(PROPERTIES.get(i));
            } else {
                System.setProperty(PROPERTIES.get(i), before.get(i));
            }
        }
    }

    private Path fallback() throws IOException {
        return directory.resolve("tmp").resolve("jccl-" + PrivateDirectory.ownUser());
    }

    private static void mode(Path path, String permissions) throws IOException {
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
    }

    private static void give(Path path, int user) throws IOException {
        assumeTrue(PrivateDirectory.ownUser() == ROOT, "needs root, to act as another user");
        Files.setAttribute(path, "unix:uid", user);
        Files.setAttribute(path, "unix:gid", user);
    }

    /** Runs a command as another user; tells whether it worked. */
    private static boolean nobodyCan(String... command) throws IOException, InterruptedException {
        assumeTrue(PrivateDirectory.ownUser() == ROOT, "needs root, to act as another user");
        assumeTrue(Files.exists(Path.of("/usr/bin/setpriv")), "needs setpriv");
        List<String> words =
                new ArrayList<>(
                        List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"));
        words.addAll(List.of(command));
        Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
        assertThat(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
        return process.exitValue() == 0;
    }

    private Path load() {
        return NativeLibraries.load(
                "org.example:binding",
                name -> new ByteArrayInputStream(CONTENT),
                NAMES,
                loaded::add);
    }

    @Test
    void whereTheHomeIsNotWritableTheTemporaryDirectoryServes() throws IOException {
        assertThat(load().getParent()).isEqualTo(fallback());
        assertThat(loaded).hasSize(1);
        assertThat(Files.getPosixFilePermissions(fallback()))
                .isEqualTo(PosixFilePermissions.fromString("rwx------"));
    }

    @Test
    void aDirectoryThatAnotherUserMadeBeforeIsRefused() throws IOException {
        Path digest = load().getFileName();
        Path planted = fallback().resolve(digest);
        give(planted.resolve("libone.so"), NOBODY);
        give(planted, NOBODY);
        give(fallback(), NOBODY);
        mode(fallback(), "rwxr-xr-x");
        loaded.clear();
        assertThatThrownBy(this::load)
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining(fallback() + " belongs to user " + NOBODY)
                .hasMessageContaining("-D" + NativeLibraries.CACHE_PROPERTY);
        assertThat(loaded).isEmpty();
    }

    @Test
    void everyDirectoryAboveCounts() throws IOException {
        Path middle = Files.createDirectory(directory.resolve("middle"));
        System.setProperty(NativeLibraries.CACHE_PROPERTY, middle.resolve("cache").toString());
        load();
        loaded.clear();
        mode(middle, "rwxrwxrwx");
        load();
        assertThat(loaded).allMatch(PrivateDirectoryTest::isNameless);
        mode(middle, "rwxr-xr-x");
        load();
        give(middle, NOBODY);
        loaded.clear();
        assertThatThrownBy(this::load).hasMessageContaining(middle + " belongs to user " + NOBODY);
        assertThat(loaded).isEmpty();
    }

    @Test
    void nothingIsMadeInADirectoryThatIsRefused() throws IOException {
        Path theirs = Files.createDirectory(directory.resolve("theirs"));
        System.setProperty(NativeLibraries.CACHE_PROPERTY, theirs.resolve("a/cache").toString());
        mode(theirs, "rwxrwxrwx");
        load();
        assertThat(theirs).isEmptyDirectory();
        mode(theirs, "rwxr-xr-x");
        give(theirs, NOBODY);
        assertThatThrownBy(this::load).hasMessageContaining(theirs + " belongs to user " + NOBODY);
        assertThat(theirs).isEmptyDirectory();
    }

    @Test
    void aLinkToNowhereIsReported() throws IOException {
        Files.createSymbolicLink(fallback(), directory.resolve("nowhere"));
        assertThatThrownBy(this::load)
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining(fallback().toString());
        assertThat(directory.resolve("nowhere")).doesNotExist();
    }

    @Test
    void aGroupThatIsNotTheOwnersOwnCountsAsOthers() throws IOException {
        Path shared = Files.createDirectory(directory.resolve("shared"));
        System.setProperty(NativeLibraries.CACHE_PROPERTY, shared.resolve("cache").toString());
        load();
        assumeTrue(PrivateDirectory.ownUser() == ROOT, "needs root, to change the group");
        mode(shared, "rwxrwxr-x");
        load();
        loaded.clear();
        Files.setAttribute(shared, "unix:gid", NOBODY);
        load();
        assertThat(loaded).hasSize(1).allMatch(PrivateDirectoryTest::isNameless);
    }

    private static boolean isNameless(String path) {
        return path.startsWith("/proc/self/fd/");
    }

    /** As the home and the temporary directory are in a pod with a read-only root. */
    private List<Path> volumesOfKubernetes(int mode) throws IOException {
        List<Path> volumes = new ArrayList<>();
        for (String property : List.of("user.home", "java.io.tmpdir")) {
            Path volume = Files.createDirectory(directory.resolve(property));
            Files.setAttribute(volume, "unix:mode", mode);
            System.setProperty(property, volume.toString());
            volumes.add(volume);
        }
        return volumes;
    }

    @ParameterizedTest
    @ValueSource(ints = {0777, 02777})
    void inVolumesOfKubernetesNobodyCanChangeWhatIsLoaded(int mode) throws IOException {
        List<Path> volumes = volumesOfKubernetes(mode);
        NativeLibraries.load(
                "org.example:binding",
                name -> new ByteArrayInputStream(CONTENT),
                NAMES,
                path -> {
                    loaded.add(path);
                    volumes.forEach(volume -> assertThat(volume).isEmptyDirectory());
                    assertThat(Path.of(path)).hasBinaryContent(CONTENT);
                    try {
                        Object permissions = Files.getAttribute(Path.of(path), "posix:permissions");
                        assertThat(permissions)
                                .isEqualTo(PosixFilePermissions.fromString("rw-------"));
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                });
        assertThat(loaded).hasSize(1).allMatch(PrivateDirectoryTest::isNameless);
    }

    @Test
    void eachAttemptIsToldOnce() throws IOException {
        List<Path> volumes = volumesOfKubernetes(0777);
        assertThatThrownBy(
                        () ->
                                NativeLibraries.load(
                                        "org.example:binding",
                                        name -> new ByteArrayInputStream(CONTENT),
                                        NAMES,
                                        path -> {
                                            throw new UnsatisfiedLinkError(path + ": no");
                                        }))
                .satisfies(e -> assertThat(e.getMessage().lines().distinct()).hasSize(6))
                .satisfies(e -> assertThat(e.getMessage().lines()).hasSize(6))
                .hasMessageContaining("other users may write to " + volumes.get(0))
                .hasMessageContaining("other users may write to " + volumes.get(1));
    }

    @Test
    void aLinkIntoAnotherUsersDirectoryIsFollowedBeforeTheCheck() throws IOException {
        Path theirs = Files.createDirectory(directory.resolve("theirs"));
        Files.createSymbolicLink(fallback(), theirs);
        load();
        loaded.clear();
        give(theirs, NOBODY);
        assertThatThrownBy(this::load).hasMessageContaining(theirs + " belongs to user " + NOBODY);
        assertThat(loaded).isEmpty();
    }

    @Test
    void aFileThatAnotherUserOwnsIsWrittenAgain() throws IOException {
        Path library = load().resolve("libone.so");
        give(library, NOBODY);
        load();
        assertThat(Files.getAttribute(library, "unix:uid")).isEqualTo(PrivateDirectory.ownUser());
        mode(library, "rw-rw-rw-");
        load();
        assertThat(Files.getPosixFilePermissions(library))
                .isEqualTo(PosixFilePermissions.fromString("rw-------"));
    }

    /** The moment between comparing and loading, in which the attack worked. */
    @Test
    void nobodyCanSwapTheFileBeforeItIsLoaded() throws IOException {
        give(Files.createFile(directory.resolve("tmp/evil.so")), NOBODY);
        List<String> swapped = new ArrayList<>();
        NativeLibraries.load(
                "org.example:binding",
                name -> new ByteArrayInputStream(CONTENT),
                NAMES,
                path -> {
                    try {
                        String evil = directory.resolve("tmp/evil.so").toString();
                        Path cache = Path.of(path).getParent().getParent();
                        assertThat(nobodyCan("true")).isTrue();
                        if (nobodyCan("cp", evil, path)
                                || nobodyCan("mv", "-f", evil, path)
                                || nobodyCan("rm", "-f", path)
                                || nobodyCan("mv", cache.toString(), cache + ".away")) {
                            swapped.add(path);
                        }
                        assertThat(Path.of(path)).hasBinaryContent(CONTENT);
                    } catch (IOException | InterruptedException e) {
                        throw new AssertionError(e);
                    }
                });
        assertThat(swapped).isEmpty();
    }

    @Test
    void anotherLoaderIsSentToAPrivateDirectoryOnlyWhereItsOwnIsNot() throws IOException {
        Path usual = Files.createDirectory(directory.resolve("usual"));
        NativeLibraries.unpackPrivately("test.unpack", Optional.of(usual));
        assertThat(System.getProperty("test.unpack")).isEqualTo(usual.toString());
        System.clearProperty("test.unpack");
        mode(usual, "rwxrwxrwx");
        NativeLibraries.unpackPrivately("test.unpack", Optional.of(usual));
        assertThat(Path.of(System.getProperty("test.unpack")).getParent()).isEqualTo(fallback());
        System.setProperty("test.unpack", "chosen");
        NativeLibraries.unpackPrivately("test.unpack", Optional.empty());
        assertThat(System.getProperty("test.unpack")).isEqualTo("chosen");
    }

    @Test
    void anotherLoaderIsRefusedWhereNoDirectoryIsPrivate() throws IOException {
        Files.setAttribute(directory.resolve("tmp"), "unix:mode", 0777);
        assertThatThrownBy(() -> NativeLibraries.unpackPrivately("test.unpack", Optional.empty()))
                .isInstanceOf(BackendUnavailableException.class)
                .hasMessageContaining("-Dtest.unpack=DIR");
        assertThat(System.getProperty("test.unpack")).isNull();
    }
}

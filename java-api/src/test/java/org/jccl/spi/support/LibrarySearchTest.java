package org.jccl.spi.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LibrarySearchTest {

    private static LibrarySearch search(Map<String, String> environment, String... property) {
        Properties properties = new Properties();
        for (int i = 0; i < property.length; i += 2) {
            properties.setProperty(property[i], property[i + 1]);
        }
        return new LibrarySearch("libx.so", properties, environment);
    }

    private static List<String> places(LibrarySearch search) {
        return search.candidates().stream().map(Object::toString).toList();
    }

    @Test
    void aFileThatIsNamedIsTheOnlyPlace() {
        Map<String, String> environment = Map.of("X_LIBRARY", "/b/liby.so", "X_HOME", "/c");
        assertThat(
                        places(
                                search(environment, "x.library", "/a/liby.so")
                                        .property("x.library")
                                        .variable("X_LIBRARY")
                                        .home("X_HOME", "lib")))
                .containsExactly("/a/liby.so (system property x.library)");
        assertThat(
                        places(
                                search(environment)
                                        .property("x.library")
                                        .variable("X_LIBRARY")
                                        .home("X_HOME", "lib")))
                .containsExactly("/b/liby.so (environment variable X_LIBRARY)");
    }

    @Test
    void placesComeInTheOrderInWhichTheyWereAdded(@TempDir Path python) throws Exception {
        Path packages = Files.createDirectories(python.resolve("lib/python3.12/site-packages"));
        Map<String, String> environment =
                Map.of(
                        "X_HOME", "/home",
                        "LD_LIBRARY_PATH", "/one::/two",
                        "VIRTUAL_ENV", python.toString(),
                        "CONDA_PREFIX", "/nowhere");
        assertThat(
                        places(
                                search(environment)
                                        .variable("X_LIBRARY")
                                        .home("X_HOME", "lib64", "")
                                        .home("X_OTHER", "lib")
                                        .loaderPath()
                                        .folder(Path.of("/opt/x"), "default")
                                        .python("x/lib")))
                .containsExactly(
                        "/home/lib64/libx.so (X_HOME)",
                        "/home/libx.so (X_HOME)",
                        "/one/libx.so (LD_LIBRARY_PATH)",
                        "/two/libx.so (LD_LIBRARY_PATH)",
                        "/opt/x/libx.so (default)",
                        packages + "/x/lib/libx.so (pip package in VIRTUAL_ENV)",
                        "/nowhere/lib/libx.so (CONDA_PREFIX, which has no Python packages)");
    }

    /** As on images that have a Python on the PATH, and no environment that is active. */
    @Test
    void pythonsPackagesAreFoundWithoutAnEnvironment(@TempDir Path root) throws Exception {
        List<String> made =
                List.of(
                        "home/.local/lib/python3.9/site-packages",
                        "usr/lib/python3/dist-packages",
                        "usr/lib/python3.11/dist-packages",
                        "usr/lib64/python3.11/site-packages",
                        "usr/local/lib/python3.11/dist-packages",
                        "opt/lib/python3.12/site-packages",
                        "opt/lib/python3.9/site-packages");
        for (String folder : made) {
            Files.createDirectories(root.resolve(folder));
        }
        Path real = Files.createDirectories(root.resolve("opt/bin")).resolve("python3.12");
        assertThat(Files.createFile(real).toFile().setExecutable(true)).isTrue();
        Path bin = Files.createDirectories(root.resolve("usr/bin"));
        Files.createSymbolicLink(bin.resolve("python3"), real);
        Files.createDirectories(root.resolve("empty"));
        Map<String, String> environment =
                Map.of("PATH", root + "/empty:" + bin, "PYTHONPATH", root + "/more");
        String packages = "packages of " + bin + "/python3";
        assertThat(places(search(environment, "user.home", root + "/home").python("x")))
                .containsExactly(
                        root + "/more/x/libx.so (PYTHONPATH)",
                        place(root, made.get(0), "pip's packages of the user"),
                        place(root, made.get(2), packages),
                        place(root, made.get(1), packages),
                        place(root, made.get(3), packages),
                        place(root, made.get(4), packages),
                        place(root, made.get(5), packages),
                        place(root, made.get(6), packages));
    }

    private static String place(Path root, String folder, String reason) {
        return root + "/" + folder + "/x/libx.so (" + reason + ")";
    }

    /** A link from lib64 to lib, as in virtual environments, is no second place. */
    @Test
    void anActiveEnvironmentIsTheOnlyPython(@TempDir Path root) throws Exception {
        Path packages = Files.createDirectories(root.resolve("env/lib/python3.12/site-packages"));
        Files.createSymbolicLink(root.resolve("env/lib64"), Path.of("lib"));
        Files.createDirectories(root.resolve("home/.local/lib/python3.12/site-packages"));
        Map<String, String> environment =
                Map.of("VIRTUAL_ENV", root + "/env", "PATH", "/usr/bin", "PYTHONPATH", "/more");
        assertThat(places(search(environment, "user.home", root + "/home").python("x")))
                .containsExactly(packages + "/x/libx.so (pip package in VIRTUAL_ENV)");
    }

    @Test
    void aPathOfPythonsThatIsNoneIsTold() {
        LibrarySearch search = search(Map.of("PATH", "/b\0")).python("x");
        List<String> tried = new ArrayList<>();
        assertThat(search.load(path -> {}, tried)).isEmpty();
        assertThat(tried).singleElement().asString().startsWith("PATH is '/b\0'");
    }

    /** The zero byte stands for what this process cannot represent as a path. */
    @Test
    void aPlaceThatIsNoPathIsSkippedWithTheReason() {
        Map<String, String> environment =
                Map.of("X_HOME", "/a\0", "LD_LIBRARY_PATH", "/b\0:/c", "VIRTUAL_ENV", "/d\0");
        LibrarySearch search = search(environment).home("X_HOME", "lib64", "lib").loaderPath();
        assertThat(places(search.python("x"))).containsExactly("/c/libx.so (LD_LIBRARY_PATH)");
        List<String> tried = new ArrayList<>();
        assertThat(search.load(path -> {}, tried)).isEmpty();
        assertThat(tried)
                .hasSize(4)
                .anyMatch(line -> line.startsWith("X_HOME is '/a\0', which cannot be a path"))
                .anyMatch(line -> line.startsWith("LD_LIBRARY_PATH is '/b\0'"))
                .anyMatch(line -> line.startsWith("VIRTUAL_ENV is '/d\0'"));
    }

    @Test
    void aNamedFileThatIsNoPathLeavesNoPlace() {
        LibrarySearch search =
                search(Map.of("X_HOME", "/c"), "x.library", "/a\0")
                        .property("x.library")
                        .home("X_HOME", "lib");
        List<String> tried = new ArrayList<>();
        assertThat(search.load(path -> {}, tried)).isEmpty();
        assertThat(tried)
                .singleElement()
                .asString()
                .startsWith("system property x.library is '/a\0', which cannot be a path");
    }

    @Test
    void linkerHasItsDefaultFolders() {
        assertThat(places(search(Map.of()).linker()))
                .contains("/usr/lib/libx.so (dynamic linker)")
                .doesNotHaveDuplicates();
    }

    @Test
    void firstFileThatLoadsIsTakenAndAllThatWasTriedIsTold(@TempDir Path root) throws Exception {
        LibrarySearch search = search(Map.of());
        for (String folder : List.of("missing", "broken", "good", "later")) {
            search.folder(root.resolve(folder), folder);
        }
        for (String folder : List.of("broken", "good", "later")) {
            Files.createDirectories(root.resolve(folder));
            Files.createFile(root.resolve(folder).resolve("libx.so"));
        }
        List<String> tried = new ArrayList<>();
        assertThat(
                        search.load(
                                file -> {
                                    if (file.getParent().endsWith("broken")) {
                                        throw new LinkageError("not used", new Exception("magic"));
                                    }
                                },
                                tried))
                .contains(root.resolve("good/libx.so"));
        assertThat(tried)
                .containsExactly(
                        root + "/missing/libx.so (missing): no such file",
                        root + "/broken/libx.so (broken): not used; magic",
                        root + "/good/libx.so (good): loaded");
    }

    @Test
    void nothingIsLoadedWhereNothingIs() {
        List<String> tried = new ArrayList<>();
        assertThat(search(Map.of()).load(file -> {}, tried)).isEmpty();
        assertThat(tried).isEmpty();
    }
}

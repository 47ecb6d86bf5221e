package org.jccl.spi.support;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.function.BiConsumer;
import org.jccl.spi.PathSetting;

/**
 * Finds the package folders from which a Python of this process would import, without starting one:
 * those of the active environment, of the user, and of the Python on the {@code PATH}.
 */
final class PythonPackages {

    private static final List<String> LIBRARIES = List.of("lib", "lib64", "local/lib");
    private static final List<String> PACKAGES = List.of("site-packages", "dist-packages");

    private final Properties properties;
    private final Map<String, String> environment;

    /** Receives each folder and the reason for it, best first. */
    private final BiConsumer<Path, String> found;

    private PythonPackages(
            Properties properties,
            Map<String, String> environment,
            BiConsumer<Path, String> found) {
        this.properties = properties;
        this.environment = environment;
        this.found = found;
    }

    /**
     * Finds the folders.
     *
     * @param found gets each folder and the reason for it, best first
     * @throws org.jccl.UsageException if a setting is not a path; earlier folders were already
     *     passed on
     */
    static void find(
            Properties properties,
            Map<String, String> environment,
            BiConsumer<Path, String> found) {
        PythonPackages packages = new PythonPackages(properties, environment, found);
        packages.paths("PYTHONPATH").forEach(folder -> found.accept(folder, "PYTHONPATH"));
        packages.users();
        packages.commands();
    }

    /** Passes on the folders below the prefix of an installation. Returns whether there are any. */
    static boolean below(Path prefix, String reason, BiConsumer<Path, String> found) {
        boolean any = false;
        for (String library : LIBRARIES) {
            if (Files.isSymbolicLink(prefix.resolve(library))) {
                continue; // environments have lib64 as a link to lib
            }
            for (Path version : versions(prefix.resolve(library))) {
                for (String packages : PACKAGES) {
                    Path folder = version.resolve(packages);
                    if (Files.isDirectory(folder)) {
                        found.accept(folder, reason);
                        any = true;
                    }
                }
            }
        }
        return any;
    }

    /** Returns the newest first. {@code python3} of Debian, without a number, is last. */
    private static List<Path> versions(Path library) {
        List<Path> versions = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(library, "python3*")) {
            stream.forEach(versions::add);
        } catch (IOException e) {
            // A missing or unreadable folder has no packages.
            return versions;
        }
        versions.sort(
                Comparator.<Path>comparingInt(path -> path.getFileName().toString().length())
                        .thenComparing(Comparator.naturalOrder())
                        .reversed());
        return versions;
    }

    /** Finds the folder of {@code pip install --user}. */
    private void users() {
        String base = environment.getOrDefault("PYTHONUSERBASE", "");
        String home = properties.getProperty("user.home", "");
        if (!base.isEmpty()) {
            below(PathSetting.of("PYTHONUSERBASE", base), "PYTHONUSERBASE", found);
        } else if (!home.isEmpty()) {
            below(PathSetting.of("user.home", home, ".local"), "pip's packages of the user", found);
        }
    }

    /** Finds the first {@code python3} on the PATH, and the file to which it links. */
    private void commands() {
        for (Path folder : paths("PATH")) {
            Path python = folder.resolve("python3");
            if (Files.isExecutable(python)) {
                command(python.toAbsolutePath());
                return;
            }
        }
    }

    private void command(Path python) {
        String reason = "packages of " + python;
        below(python.resolve("../..").normalize(), reason, found);
        try {
            below(python.toRealPath().resolve("../..").normalize(), reason, found);
        } catch (IOException e) {
            // The link is broken, so there is nothing more to find.
            return;
        }
    }

    private List<Path> paths(String variable) {
        List<Path> paths = new ArrayList<>();
        for (String path : environment.getOrDefault(variable, "").split(File.pathSeparator)) {
            if (!path.isEmpty()) {
                paths.add(PathSetting.of(variable, path));
            }
        }
        return paths;
    }
}

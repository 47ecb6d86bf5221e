package org.jccl.spi.support;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jccl.UsageException;
import org.jccl.spi.PathSetting;

/**
 * The places where a library of the host may be, best first. A binding adds them in the order that
 * its guide documents. It then calls {@link #candidates()}, or {@link #load} to load the first one
 * that works.
 *
 * <p>If a system property or environment variable names the file itself, that file is the only
 * place. Not thread-safe.
 */
public final class LibrarySearch {

    /** What to do where Java 24 or later refuses to load a library. */
    static final String ACCESS_DENIED =
            "native access is denied; start Java with --enable-native-access=ALL-UNNAMED (class path)"
                    + " or with the modules of JCCL and of its bindings (module path)";

    private static final Path LINKER_CONFIGURATION = Path.of("/etc/ld.so.conf");
    private static final int MAX_INCLUDES = 64;

    /**
     * A candidate file.
     *
     * @param file an absolute path
     * @param reason the rule that names it
     */
    public record Candidate(Path file, String reason) {
        @Override
        public String toString() {
            return file + " (" + reason + ")";
        }
    }

    private final String fileName;
    private final Properties properties;
    private final Map<String, String> environment;
    private final List<Candidate> found = new ArrayList<>();
    private final List<String> refused = new ArrayList<>();
    private boolean named;

    /**
     * Creates a search without places.
     *
     * @param fileName the name of the library, for instance {@code libx.so.1}
     * @param properties the system properties
     * @param environment the environment of the process
     */
    public LibrarySearch(String fileName, Properties properties, Map<String, String> environment) {
        this.fileName = fileName;
        this.properties = properties;
        this.environment = environment;
    }

    /**
     * Adds the file that a system property names.
     *
     * @param property the name of the property
     * @return this search
     */
    public LibrarySearch property(String property) {
        return file(properties.getProperty(property), "system property " + property);
    }

    /**
     * Adds the file that an environment variable names.
     *
     * @param variable the name of the variable
     * @return this search
     */
    public LibrarySearch variable(String variable) {
        return file(environment.get(variable), "environment variable " + variable);
    }

    private LibrarySearch file(String path, String reason) {
        if (!named && path != null && !path.isEmpty()) {
            found.clear();
            refused.clear();
            path(reason, path)
                    .map(Path::toAbsolutePath)
                    .ifPresent(file -> found.add(new Candidate(file, reason)));
            named = true;
        }
        return this;
    }

    /**
     * Adds folders below the one that an environment variable names. Does nothing if it is not set.
     *
     * @param variable the name of the variable
     * @param below relative paths, best first; empty for the folder itself
     * @return this search
     */
    public LibrarySearch home(String variable, String... below) {
        String home = environment.get(variable);
        if (home != null && !home.isEmpty()) {
            for (String path : below) {
                path(variable, home, path).ifPresent(folder -> folder(folder, variable));
            }
        }
        return this;
    }

    /**
     * Adds the folders in {@code LD_LIBRARY_PATH}.
     *
     * @return this search
     */
    public LibrarySearch loaderPath() {
        for (String folder : environment.getOrDefault("LD_LIBRARY_PATH", "").split("[:;]")) {
            if (!folder.isEmpty()) {
                path("LD_LIBRARY_PATH", folder).ifPresent(path -> folder(path, "LD_LIBRARY_PATH"));
            }
        }
        return this;
    }

    /**
     * Adds the folders of the dynamic linker: {@code /etc/ld.so.conf} with the files it includes,
     * then the default ones.
     *
     * @return this search
     */
    public LibrarySearch linker() {
        for (String folder : linkerFolders()) {
            path("dynamic linker", folder).ifPresent(path -> folder(path, "dynamic linker"));
        }
        return this;
    }

    /**
     * Adds a folder of Python packages. If an environment is active ({@code VIRTUAL_ENV}, then
     * {@code CONDA_PREFIX}), it is searched. Otherwise {@code PYTHONPATH}, the packages of the user
     * ({@code ~/.local}) and those of the {@code python3} on the {@code PATH} are. No Python is
     * started.
     *
     * @param below a relative path in {@code site-packages} or {@code dist-packages}
     * @return this search
     */
    public LibrarySearch python(String below) {
        boolean isActive = false;
        for (String variable : List.of("VIRTUAL_ENV", "CONDA_PREFIX")) {
            String prefix = environment.get(variable);
            if (prefix != null && !prefix.isEmpty()) {
                isActive = true;
                path(variable, prefix).ifPresent(path -> environment(path, variable, below));
            }
        }
        if (!isActive && !named) {
            try {
                PythonPackages.find(properties, environment, (path, why) -> add(path, below, why));
            } catch (UsageException e) {
                refuse(e);
            }
        }
        return this;
    }

    private void environment(Path prefix, String variable, String below) {
        String reason = "pip package in " + variable;
        if (!PythonPackages.below(prefix, reason, (path, why) -> add(path, below, why))) {
            folder(prefix.resolve("lib"), variable + ", which has no Python packages");
        }
    }

    /** Adds a folder once; several links may lead to it. */
    private void add(Path packages, String below, String reason) {
        Path file = packages.resolve(below).resolve(fileName).toAbsolutePath();
        if (found.stream().noneMatch(candidate -> candidate.file().equals(file))) {
            folder(file.getParent(), reason);
        }
    }

    /**
     * Adds a folder.
     *
     * @param folder where the file may be
     * @param reason the rule that names it
     * @return this search
     */
    public LibrarySearch folder(Path folder, String reason) {
        if (!named) {
            found.add(new Candidate(folder.toAbsolutePath().resolve(fileName), reason));
        }
        return this;
    }

    /** Returns a path, or records why this process cannot represent it. */
    private Optional<Path> path(String setting, String value, String... below) {
        if (named) {
            return Optional.empty();
        }
        try {
            return Optional.of(PathSetting.of(setting, value, below));
        } catch (UsageException e) {
            refuse(e);
            return Optional.empty();
        }
    }

    private void refuse(UsageException reason) {
        if (!refused.contains(reason.getMessage())) {
            refused.add(reason.getMessage());
        }
    }

    /**
     * Returns all places, including those without a file.
     *
     * @return best first
     */
    public List<Candidate> candidates() {
        return List.copyOf(found);
    }

    /**
     * Loads the first candidate that works.
     *
     * @param loader loads an absolute path; throws a {@link LinkageError} with the reason if the
     *     file cannot be used
     * @param tried gets a line for each place, in the form of {@link org.jccl.Availability}
     * @return the file that was loaded, or empty
     */
    public Optional<Path> load(Consumer<Path> loader, List<String> tried) {
        tried.addAll(refused);
        for (Candidate candidate : found) {
            if (!Files.exists(candidate.file())) {
                tried.add(candidate + ": no such file");
                continue;
            }
            try {
                loader.accept(candidate.file());
                tried.add(candidate + ": loaded");
                return Optional.of(candidate.file());
            } catch (LinkageError e) {
                tried.add(candidate + ": " + messages(e));
            }
        }
        return Optional.empty();
    }

    /**
     * Joins the messages of an error and its causes, which often contain the reason of the linker.
     *
     * @param thrown the error
     * @return the messages, outermost first
     */
    public static String messages(Throwable thrown) {
        for (Throwable each = thrown; each != null; each = each.getCause()) {
            if (each instanceof IllegalCallerException) {
                return ACCESS_DENIED;
            }
        }
        StringBuilder text = new StringBuilder(String.valueOf(thrown.getMessage()));
        for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) {
            text.append("; ").append(cause.getMessage());
        }
        return text.toString();
    }

    private static List<String> linkerFolders() {
        List<String> folders = new ArrayList<>();
        List<Path> files = new ArrayList<>(List.of(LINKER_CONFIGURATION));
        // The list grows while it is read. The limit ends a file that includes itself.
        for (int i = 0; i < files.size() && i < MAX_INCLUDES; i++) {
            readLinkerConfiguration(files.get(i), folders, files);
        }
        String arch = System.getProperty("os.arch").replace("amd64", "x86_64");
        folders.add("/lib/" + arch + "-linux-gnu");
        folders.add("/usr/lib/" + arch + "-linux-gnu");
        folders.addAll(List.of("/lib64", "/usr/lib64", "/lib", "/usr/lib"));
        return folders.stream().distinct().toList();
    }

    private static void readLinkerConfiguration(
            Path file, List<String> folders, List<Path> included) {
        try (Stream<String> lines = Files.lines(file)) {
            for (String line : lines.map(String::strip).toList()) {
                if (line.startsWith("include ")) {
                    included.addAll(matching(line.substring("include ".length()).strip()));
                } else if (line.startsWith(File.separator)) {
                    folders.add(line);
                }
            }
        } catch (IOException | RuntimeException e) {
            // A missing or unreadable file adds no folders.
            return;
        }
    }

    private static List<Path> matching(String pattern) throws IOException {
        Path path = Path.of(pattern);
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> stream =
                Files.newDirectoryStream(path.getParent(), path.getFileName().toString())) {
            stream.forEach(files::add);
        }
        files.sort(null);
        return files;
    }
}

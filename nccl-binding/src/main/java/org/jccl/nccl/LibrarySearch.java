package org.jccl.nccl;

import java.io.File;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;

/**
 * Where a library is looked for, in this order:
 *
 * <ol>
 *   <li>the system property, for instance {@code org.jccl.nccl.library}; nothing else when it is
 *       set
 *   <li>the environment variable, for instance {@code JCCL_NCCL_LIBRARY}; nothing else when it is
 *       set
 *   <li>{@code CUDA_HOME}, then {@code CUDA_PATH}: {@code lib64}, {@code lib}
 *   <li>the folders in {@code LD_LIBRARY_PATH}
 *   <li>the dynamic linker's folders: {@code /etc/ld.so.conf} with what it includes, then its
 *       default ones, then {@code /usr/local/cuda}
 *   <li>the packages that pip puts into the active Python, {@code VIRTUAL_ENV} or {@code
 *       CONDA_PREFIX}: {@code nvidia/nccl/lib}, {@code nvidia/cu13/lib}
 * </ol>
 *
 * <p>The driver is looked for by 1, 2, 4 and 5 only: what lies in a CUDA folder is a stub.
 */
final class LibrarySearch {

    private static final List<String> LINKER_DEFAULTS =
            List.of(
                    "/lib/x86_64-linux-gnu",
                    "/usr/lib/x86_64-linux-gnu",
                    "/lib64",
                    "/usr/lib64",
                    "/lib",
                    "/usr/lib");

    private static final Path LINKER_CONFIGURATION = Path.of("/etc/ld.so.conf");
    private static final int MOST_INCLUDES = 64;

    /**
     * One place to look.
     *
     * @param file absolute path
     * @param reason which rule names it
     */
    record Candidate(Path file, String reason) {
        @Override
        public String toString() {
            return file + " (" + reason + ")";
        }
    }

    private final Properties properties;
    private final Map<String, String> environment;

    LibrarySearch(Properties properties, Map<String, String> environment) {
        this.properties = properties;
        this.environment = environment;
    }

    /** The places to look for a library, best first, whether there is a file or not. */
    List<Candidate> candidates(VendorLibrary library) {
        String named = properties.getProperty(library.property);
        if (named != null) {
            return List.of(candidate(named, "system property " + library.property));
        }
        named = environment.get(library.variable);
        if (named != null) {
            return List.of(candidate(named, "environment variable " + library.variable));
        }
        List<Candidate> found = new ArrayList<>();
        boolean driver = library == VendorLibrary.DRIVER;
        if (!driver) {
            for (String variable : List.of("CUDA_HOME", "CUDA_PATH")) {
                folder(variable, "lib64", library, found);
                folder(variable, "lib", library, found);
            }
        }
        String loaderPath = environment.getOrDefault("LD_LIBRARY_PATH", "");
        for (String folder : loaderPath.split("[:;]")) {
            if (!folder.isEmpty()) {
                found.add(inside(Path.of(folder), library, "LD_LIBRARY_PATH"));
            }
        }
        for (String folder : linkerFolders()) {
            found.add(inside(Path.of(folder), library, "dynamic linker"));
        }
        if (!driver) {
            found.add(inside(Path.of("/usr/local/cuda/lib64"), library, "default CUDA folder"));
            String folder = library == VendorLibrary.NCCL ? "nvidia/nccl/lib" : "nvidia/cu13/lib";
            pythonFolders("VIRTUAL_ENV", folder, library, found);
            pythonFolders("CONDA_PREFIX", folder, library, found);
        }
        return found;
    }

    private static Candidate candidate(String path, String reason) {
        return new Candidate(Path.of(path).toAbsolutePath(), reason);
    }

    private static Candidate inside(Path folder, VendorLibrary library, String reason) {
        return new Candidate(folder.toAbsolutePath().resolve(library.fileName), reason);
    }

    private void folder(
            String variable, String below, VendorLibrary library, List<Candidate> found) {
        String home = environment.get(variable);
        if (home != null && !home.isEmpty()) {
            found.add(inside(Path.of(home, below), library, variable));
        }
    }

    private void pythonFolders(
            String variable, String below, VendorLibrary library, List<Candidate> found) {
        String prefix = environment.get(variable);
        if (prefix == null || prefix.isEmpty()) {
            return;
        }
        Path lib = Path.of(prefix, "lib");
        try (DirectoryStream<Path> versions = Files.newDirectoryStream(lib, "python3*")) {
            for (Path version : versions) {
                Path packages = version.resolve("site-packages");
                found.add(inside(packages.resolve(below), library, "pip package in " + variable));
            }
        } catch (IOException e) {
            found.add(inside(lib, library, variable + ", which has no Python packages"));
        }
    }

    private List<String> linkerFolders() {
        List<String> folders = new ArrayList<>();
        List<Path> files = new ArrayList<>(List.of(LINKER_CONFIGURATION));
        // The list grows while it is read; the bound ends a file that includes itself.
        for (int i = 0; i < files.size() && i < MOST_INCLUDES; i++) {
            readLinkerConfiguration(files.get(i), folders, files);
        }
        folders.addAll(LINKER_DEFAULTS);
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
            // A missing or unreadable file says nothing about folders; the defaults still count.
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

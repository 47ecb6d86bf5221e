package org.jccl.hccl;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;
import org.jccl.spi.support.LibrarySearch;

/** The two parts of CANN that are searched for, each in one or two files. */
enum HcclLibrary {
    /** The runtime, which moved in 8.5. */
    ACL(List.of("libascendcl.so", "libacl_rt.so"), "org.jccl.hccl.acl", "JCCL_HCCL_ACL"),
    /** HCCL, whose communicators moved in 8.5. */
    HCCL(List.of("libhccl.so", "libhcomm.so"), "org.jccl.hccl.library", "JCCL_HCCL_LIBRARY");

    private static final List<String> STUB_FOLDERS = List.of("devlib", "stub");
    private static final Path INSTALL_INFO = Path.of("/etc/Ascend/ascend_cann_install.info");
    private static final String INSTALL_PATH = "Install_Path=";

    /** Installations below a folder of CANN's installer, newest layout first. */
    private static final List<String> INSTALLATIONS =
            List.of("cann", "ascend-toolkit/latest", "nnae/latest", "nnrt/latest");

    /** File names. The second file is opened too if it exists beside the first. */
    final List<String> names;

    /** System property that holds the path of the first file. */
    final String property;

    /** Environment variable that holds the path of the first file. */
    final String variable;

    HcclLibrary(List<String> names, String property, String variable) {
        this.names = names;
        this.property = property;
        this.variable = variable;
    }

    /** The paths where one of the names is searched for, in the documented order. */
    LibrarySearch places(String name, Properties properties, Map<String, String> environment) {
        LibrarySearch search =
                new LibrarySearch(name, properties, environment)
                        .property(property)
                        .variable(variable)
                        .home("ASCEND_HOME_PATH", "lib64")
                        .home("ASCEND_TOOLKIT_HOME", "lib64")
                        .loaderPath()
                        .linker();
        installed(Path.of("/usr/local/Ascend"), "default folder", search);
        INSTALLATIONS.forEach(each -> search.home("HOME", "Ascend/" + each + "/lib64"));
        try (Stream<String> lines = Files.lines(INSTALL_INFO)) {
            lines.filter(line -> line.startsWith(INSTALL_PATH))
                    .map(line -> Path.of(line.substring(INSTALL_PATH.length()).strip(), "lib64"))
                    .forEach(folder -> search.folder(folder, INSTALL_INFO.toString()));
        } catch (IOException | RuntimeException e) {
            // Only some installers write the file; the other paths are still searched.
            return search;
        }
        return search;
    }

    private static void installed(Path root, String reason, LibrarySearch search) {
        for (String installation : INSTALLATIONS) {
            search.folder(root.resolve(installation).resolve("lib64"), reason);
        }
    }

    /**
     * Opens the first usable file, and the file of the other name if it exists beside it.
     *
     * @param symbols receives both
     * @param tried receives a line for each path
     * @return the first file, or empty
     */
    Optional<Path> search(
            Properties properties,
            Map<String, String> environment,
            Symbols symbols,
            List<String> tried) {
        for (String name : names) {
            Optional<Path> found =
                    places(name, properties, environment).load(file -> open(file, symbols), tried);
            if (found.isPresent()) {
                openBeside(found.get(), symbols, tried);
                return found;
            }
            if (properties.getProperty(property) != null || environment.containsKey(variable)) {
                break;
            }
        }
        return Optional.empty();
    }

    private void openBeside(Path first, Symbols symbols, List<String> tried) {
        for (String name : names) {
            Path beside = first.resolveSibling(name);
            if (!beside.equals(first) && Files.exists(beside)) {
                open(beside, symbols);
                tried.add(beside + " (beside the one above): loaded");
            }
        }
    }

    private static void open(Path file, Symbols symbols) {
        rejectStub(file);
        symbols.open(file);
    }

    /** Rejects CANN's files for linking, which can be loaded but do nothing. */
    static void rejectStub(Path file) {
        Path real = file;
        try {
            real = file.toRealPath();
        } catch (IOException e) {
            throw new UnsatisfiedLinkError("cannot be read: " + e);
        }
        for (Path part : real.getParent()) {
            if (STUB_FOLDERS.contains(part.toString())) {
                throw new UnsatisfiedLinkError("a stub for linking, not a library");
            }
        }
    }
}

package org.jccl.nccl;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.jccl.spi.support.LibrarySearch;

/**
 * The libraries of the vendor, in the order in which they are tried. The CUDA runtime is that of
 * CUDA 13 or 12, depending on the driver; one that the process has already loaded takes precedence
 * over one on disk. Each file is searched for in this order:
 *
 * <ol>
 *   <li>the system property, for instance {@code org.jccl.nccl.library}; if it is set, no other
 *       place is searched
 *   <li>the environment variable, for instance {@code JCCL_NCCL_LIBRARY}; if it is set, no other
 *       place is searched
 *   <li>a library that the process has already loaded
 *   <li>{@code CUDA_HOME}, then {@code CUDA_PATH}: {@code lib64}, {@code lib}
 *   <li>the folders in {@code LD_LIBRARY_PATH}
 *   <li>the dynamic linker's folders: {@code /etc/ld.so.conf} with the files that it includes, then
 *       the default ones, then {@code /usr/local/cuda}
 *   <li>the packages that pip puts into the active Python, {@code VIRTUAL_ENV} or {@code
 *       CONDA_PREFIX}: {@code nvidia/nccl/lib}, {@code nvidia/cu13/lib}, {@code
 *       nvidia/cuda_runtime/lib}
 * </ol>
 *
 * <p>The driver is loaded here only if the property or the variable names it. Otherwise the CUDA
 * runtime loads it through the dynamic linker.
 */
enum NcclLibrary {
    /** The driver; only the system installs it. */
    DRIVER("libcuda.so.1", "org.jccl.nccl.driver", "JCCL_NCCL_DRIVER", ""),
    /** The runtime of CUDA 13, for drivers from 580 on. */
    RUNTIME_13("libcudart.so.13", "org.jccl.nccl.cudart", "JCCL_NCCL_CUDART", "nvidia/cu13/lib"),
    /** The runtime of CUDA 12, for drivers from 525 on. */
    RUNTIME_12(
            "libcudart.so.12",
            "org.jccl.nccl.cudart",
            "JCCL_NCCL_CUDART",
            "nvidia/cuda_runtime/lib"),
    /** NCCL. */
    NCCL("libnccl.so.2", "org.jccl.nccl.library", "JCCL_NCCL_LIBRARY", "nvidia/nccl/lib");

    /** The name in the dynamic linker's tables. */
    final String fileName;

    /** System property that holds the file's path. */
    final String property;

    /** Environment variable that holds the file's path. */
    final String variable;

    /** The folder below site-packages into which pip installs it. */
    private final String python;

    NcclLibrary(String fileName, String property, String variable, String python) {
        this.fileName = fileName;
        this.property = property;
        this.variable = variable;
        this.python = python;
    }

    /** The runtimes, in the order in which they are tried. */
    static List<NcclLibrary> runtimes() {
        return List.of(RUNTIME_13, RUNTIME_12);
    }

    /** Returns whether the user names the file. */
    boolean isNamed(Properties properties, Map<String, String> environment) {
        return !properties.getProperty(property, "").isEmpty()
                || !environment.getOrDefault(variable, "").isEmpty();
    }

    /** Returns the places to search, best first. */
    LibrarySearch search(Properties properties, Map<String, String> environment) {
        LibrarySearch search =
                new LibrarySearch(fileName, properties, environment)
                        .property(property)
                        .variable(variable);
        if (this == DRIVER) {
            return search;
        }
        return search.home("CUDA_HOME", "lib64", "lib")
                .home("CUDA_PATH", "lib64", "lib")
                .loaderPath()
                .linker()
                .folder(Path.of("/usr/local/cuda/lib64"), "default CUDA folder")
                .python(python);
    }
}

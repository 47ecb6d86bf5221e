package org.jccl.nccl;

import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import org.jccl.spi.LibrarySearch;

/**
 * The three libraries of the vendor, in the order in which they are loaded. Each is looked for in
 * this order:
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
enum NcclLibrary {
    /** The driver; only the system installs it. */
    DRIVER("libcuda.so.1", "cuda@.1", "org.jccl.nccl.driver", "JCCL_NCCL_DRIVER"),
    /** The runtime of CUDA 13. */
    RUNTIME("libcudart.so.13", "cudart@.13", "org.jccl.nccl.cudart", "JCCL_NCCL_CUDART"),
    /** NCCL. */
    NCCL("libnccl.so.2", "nccl@.2", "org.jccl.nccl.library", "JCCL_NCCL_LIBRARY");

    /** The name that the presets' glue asks the dynamic linker for. */
    final String fileName;

    /** The name under which JavaCPP's loader looks whether it is loaded already. */
    final String loaderKey;

    /** System property that holds the file's path. */
    final String property;

    /** Environment variable that holds the file's path. */
    final String variable;

    NcclLibrary(String fileName, String loaderKey, String property, String variable) {
        this.fileName = fileName;
        this.loaderKey = loaderKey;
        this.property = property;
        this.variable = variable;
    }

    /** The places to look, best first. */
    LibrarySearch search(Properties properties, Map<String, String> environment) {
        LibrarySearch search =
                new LibrarySearch(fileName, properties, environment)
                        .property(property)
                        .variable(variable);
        if (this == DRIVER) {
            return search.loaderPath().linker();
        }
        return search.home("CUDA_HOME", "lib64", "lib")
                .home("CUDA_PATH", "lib64", "lib")
                .loaderPath()
                .linker()
                .folder(Path.of("/usr/local/cuda/lib64"), "default CUDA folder")
                .python(this == NCCL ? "nvidia/nccl/lib" : "nvidia/cu13/lib");
    }
}

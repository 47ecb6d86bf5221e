package org.jccl.nccl;

/** The three libraries of the vendor, in the order in which they are loaded. */
enum VendorLibrary {
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

    VendorLibrary(String fileName, String loaderKey, String property, String variable) {
        this.fileName = fileName;
        this.loaderKey = loaderKey;
        this.property = property;
        this.variable = variable;
    }
}

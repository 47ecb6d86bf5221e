package org.jccl.mpi;

import org.bytedeco.javacpp.annotation.Name;
import org.bytedeco.javacpp.annotation.NoException;
import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;

/** The functions of {@code native/mpi/library.h}, which documents them. */
@Properties(
        value =
                @Platform(
                        value = {"linux-x86_64", "linux-arm64"},
                        library = MpiLibraryNative.LIBRARY,
                        include = {"mpi/library.h", "mpi/library.cc"},
                        link = "dl"))
@NoException
final class MpiLibraryNative {

    static final String LIBRARY = "jnijcclmpilibrary";

    static final int NONE = 0;
    static final int OPEN_MPI = 1;
    static final int MPICH = 2;
    static final int STANDARD_ABI = 3;

    private MpiLibraryNative() {}

    @Name("jccl_mpi_library_prepare")
    static native void prepare();

    @Name("jccl_mpi_library_open")
    static native int open(String name);

    @Name("jccl_mpi_library_text")
    static native String text();

    @Name("jccl_mpi_library_allocate")
    static native long allocate(long bytes);

    @Name("jccl_mpi_library_free")
    static native void free(long address, long bytes);
}

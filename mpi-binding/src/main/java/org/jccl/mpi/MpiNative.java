package org.jccl.mpi;

import org.bytedeco.javacpp.annotation.Cast;
import org.bytedeco.javacpp.annotation.Name;
import org.bytedeco.javacpp.annotation.NoException;
import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;

/**
 * The functions of {@code native/mpi/jccl_mpi.h}, which documents them. JavaCPP compiles them once
 * for each family of MPI libraries; {@link MpiLibraries} loads the one that fits.
 */
@Properties(
        value =
                @Platform(
                        value = {"linux-x86_64", "linux-arm64"},
                        define = {"OMPI_SKIP_MPICXX 1", "MPICH_SKIP_MPICXX 1"},
                        include = {
                            "mpi/jccl_mpi.h",
                            "common/reduce.cc",
                            "mpi/types.cc",
                            "mpi/call.cc",
                            "mpi/message.cc",
                            "mpi/deferred.cc",
                            "mpi/retired.cc",
                            "mpi/communicator.cc",
                            "mpi/collectives.cc",
                            "mpi/progress.cc",
                            "mpi/jccl_mpi.cc"
                        }))
@NoException
final class MpiNative {

    static final String OPEN_MPI_LIBRARY = "jnijcclmpi_openmpi";
    static final String MPICH_LIBRARY = "jnijcclmpi_mpich";
    static final String STANDARD_ABI_LIBRARY = "jnijcclmpi_abi";

    /** The result of {@link #init} if MPI was not initialised before. */
    static final int INITIALISED_NOW = 1;

    private MpiNative() {}

    @Name("jccl_mpi_version")
    static native String version();

    @Name("jccl_mpi_init")
    static native int init(int localRanks);

    @Name("jccl_mpi_world_rank")
    static native int worldRank();

    @Name("jccl_mpi_world_size")
    static native int worldSize();

    @Name("jccl_mpi_world_broadcast")
    static native int worldBroadcast(byte[] bytes, int length, long timeoutMillis);

    @Name("jccl_mpi_start_progress")
    static native int startProgress();

    @Name("jccl_mpi_progress")
    static native int progress();

    @Name("jccl_mpi_exit")
    static native void exit();

    @Name("jccl_mpi_end_job")
    static native void endJob(int code);

    @Name("jccl_mpi_largest_tag")
    static native int largestTag();

    @Name("jccl_mpi_largest_user_tag")
    static native int largestUserTag(long handle);

    @Name("jccl_mpi_takes_cuda")
    static native int takesCuda();

    @Name("jccl_mpi_reduces_on_devices")
    static native int reducesOnDevices(int type, int kind);

    @Name("jccl_mpi_set_largest_call")
    static native void setLargestCall(long bytes);

    @Name("jccl_mpi_create")
    static native long create(
            int[] worldRanks, int size, int tag, int checked, int trusted, int onDevice);

    @Name("jccl_mpi_shared_world")
    static native long sharedWorld();

    @Name("jccl_mpi_barrier")
    static native int barrier(long handle);

    @Name("jccl_mpi_broadcast")
    static native int broadcast(long handle, long data, long count, int type, int root);

    @Name("jccl_mpi_all_reduce")
    static native int allReduce(
            long handle, long in, long out, long count, int type, int kind, double factor);

    @Name("jccl_mpi_reduce")
    static native int reduce(
            long handle,
            long in,
            long out,
            long count,
            int type,
            int kind,
            double factor,
            int root);

    @Name("jccl_mpi_all_gather")
    static native int allGather(long handle, long in, long out, long count, int type);

    @Name("jccl_mpi_all_gather_v")
    static native int allGatherV(
            long handle, long in, long out, @Cast("const int64_t*") long[] counts, int type);

    @Name("jccl_mpi_gather")
    static native int gather(long handle, long in, long out, long count, int type, int root);

    @Name("jccl_mpi_scatter")
    static native int scatter(long handle, long in, long out, long count, int type, int root);

    @Name("jccl_mpi_reduce_scatter")
    static native int reduceScatter(
            long handle, long in, long out, long count, int type, int kind, double factor);

    @Name("jccl_mpi_reduce_scatter_v")
    static native int reduceScatterV(
            long handle,
            long in,
            long out,
            @Cast("const int64_t*") long[] counts,
            int type,
            int kind,
            double factor);

    @Name("jccl_mpi_all_to_all")
    static native int allToAll(long handle, long in, long out, long count, int type);

    @Name("jccl_mpi_all_to_all_v")
    static native int allToAllV(
            long handle,
            long in,
            long out,
            @Cast("const int64_t*") long[] inCounts,
            @Cast("const int64_t*") long[] outCounts,
            int type);

    @Name("jccl_mpi_send")
    static native long send(long handle, long data, long count, int type, int peer, int tag);

    @Name("jccl_mpi_recv")
    static native long recv(long handle, long data, long count, int type, int peer, int tag);

    @Name("jccl_mpi_test")
    static native int test(long handle, long request);

    @Name("jccl_mpi_await")
    static native int await(long handle, long request);

    @Name("jccl_mpi_abandoned")
    static native int abandoned(long handle);

    @Name("jccl_mpi_abort")
    static native void abort(long handle);

    @Name("jccl_mpi_close")
    static native int close(long handle);

    @Name("jccl_mpi_message")
    static native int message(byte[] out, int capacity);
}

package org.jccl.nccl;

import org.bytedeco.javacpp.annotation.Name;
import org.bytedeco.javacpp.annotation.NoException;
import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;

/**
 * The functions of {@code native/nccl/jccl_nccl.h}, which documents them. Functions whose names
 * begin with {@code cuda} belong to the CUDA runtime, all others to NCCL. JavaCPP compiles them and
 * the glue between into one library; {@link NcclLibraries} loads it and opens the vendor's.
 */
@Properties(
        value =
                @Platform(
                        value = {"linux-x86_64", "linux-arm64"},
                        library = NcclNative.LIBRARY,
                        include = {
                            "nccl/jccl_nccl.h",
                            "nccl/libraries.cc",
                            "nccl/cuda.cc",
                            "nccl/nccl.cc"
                        },
                        link = "dl"))
@NoException
final class NcclNative {

    static final String LIBRARY = "jnijcclnccl";

    /** Results, as NCCL's header numbers them. */
    static final int SUCCESS = 0;

    static final int UNHANDLED_CUDA_ERROR = 1;
    static final int SYSTEM_ERROR = 2;
    static final int INVALID_USAGE = 5;
    static final int REMOTE_ERROR = 6;
    static final int IN_PROGRESS = 7;
    static final int TIMEOUT = 8;

    private NcclNative() {}

    @Name("jccl_nccl_open_driver")
    static native boolean openDriver(String file);

    @Name("jccl_nccl_open_runtime")
    static native boolean openRuntime(String file, boolean present);

    @Name("jccl_nccl_open_nccl")
    static native boolean openNccl(String file, boolean present);

    @Name("jccl_nccl_text")
    static native String text();

    /** Calling a function that NCCL lacks ends the process. */
    @Name("jccl_nccl_has")
    static native boolean has(String function);

    @Name("jccl_nccl_new_cell")
    static native long newCell();

    @Name("jccl_nccl_cell")
    static native long cell(long cell);

    @Name("jccl_nccl_free_cell")
    static native void freeCell(long cell);

    @Name("jccl_nccl_new_config")
    static native long newConfig(
            int blocking,
            int cgaClusterSize,
            int minCtas,
            int maxCtas,
            int splitShare,
            int trafficClass,
            int collnet,
            int ctaPolicy,
            int nvlsCtas,
            String network,
            String name);

    @Name("jccl_nccl_free_config")
    static native void freeConfig(long config);

    @Name("jccl_cuda_error_name")
    static native String cudaErrorName(int code);

    @Name("jccl_cuda_error_string")
    static native String cudaErrorString(int code);

    @Name("jccl_cuda_get_last_error")
    static native int cudaGetLastError();

    @Name("jccl_cuda_driver_version")
    static native int cudaDriverVersion();

    @Name("jccl_cuda_runtime_version")
    static native int cudaRuntimeVersion();

    @Name("jccl_cuda_device_count")
    static native int cudaDeviceCount();

    @Name("jccl_cuda_compute_capability_major")
    static native int cudaComputeCapabilityMajor(int device);

    @Name("jccl_cuda_set_device")
    static native int cudaSetDevice(int device);

    @Name("jccl_cuda_device_synchronize")
    static native int cudaDeviceSynchronize();

    @Name("jccl_cuda_stream_create")
    static native long cudaStreamCreate(boolean highPriority);

    @Name("jccl_cuda_stream_destroy")
    static native int cudaStreamDestroy(long stream);

    @Name("jccl_cuda_stream_query")
    static native int cudaStreamQuery(long stream);

    @Name("jccl_cuda_stream_synchronize")
    static native int cudaStreamSynchronize(long stream);

    @Name("jccl_cuda_stream_is_capturing")
    static native int cudaStreamIsCapturing(long stream);

    @Name("jccl_cuda_stream_waits_for_default")
    static native int cudaStreamWaitsForDefault(long stream);

    @Name("jccl_cuda_stream_wait_event")
    static native int cudaStreamWaitEvent(long stream, long event);

    @Name("jccl_cuda_event_create")
    static native long cudaEventCreate(boolean timing);

    @Name("jccl_cuda_event_destroy")
    static native int cudaEventDestroy(long event);

    @Name("jccl_cuda_event_record")
    static native int cudaEventRecord(long event, long stream);

    @Name("jccl_cuda_event_query")
    static native int cudaEventQuery(long event);

    @Name("jccl_cuda_event_synchronize")
    static native int cudaEventSynchronize(long event);

    @Name("jccl_cuda_event_elapsed")
    static native int cudaEventElapsed(float[] millis, long start, long end);

    @Name("jccl_cuda_malloc")
    static native long cudaMalloc(long bytes);

    @Name("jccl_cuda_host_alloc")
    static native long cudaHostAlloc(long bytes);

    @Name("jccl_cuda_free")
    static native int cudaFree(long address);

    @Name("jccl_cuda_free_host")
    static native int cudaFreeHost(long address);

    @Name("jccl_cuda_memcpy_async")
    static native int cudaMemcpyAsync(long to, long from, long bytes, int kind, long stream);

    @Name("jccl_cuda_ignore_captures_of_other_threads")
    static native int cudaIgnoreCapturesOfOtherThreads();

    @Name("jccl_nccl_error_string")
    static native String errorString(int code);

    @Name("jccl_nccl_last_error")
    static native String lastError(long communicator);

    @Name("jccl_nccl_version")
    static native int version();

    @Name("jccl_nccl_get_unique_id")
    static native int getUniqueId(byte[] id);

    @Name("jccl_nccl_comm_init")
    static native int commInit(long cell, int size, byte[] ids, int count, int rank, long config);

    @Name("jccl_nccl_comm_split")
    static native int commSplit(long communicator, int color, int key, long cell, long config);

    @Name("jccl_nccl_comm_finalize")
    static native int commFinalize(long communicator);

    @Name("jccl_nccl_comm_destroy")
    static native int commDestroy(long communicator);

    @Name("jccl_nccl_comm_abort")
    static native int commAbort(long communicator);

    @Name("jccl_nccl_comm_revoke")
    static native int commRevoke(long communicator);

    @Name("jccl_nccl_register")
    static native int register(
            long communicator, long memory, long bytes, boolean window, long cell);

    @Name("jccl_nccl_deregister")
    static native int deregister(long communicator, boolean window, long handle);

    @Name("jccl_nccl_comm_async_error")
    static native int commAsyncError(long communicator);

    @Name("jccl_nccl_premul_sum_create")
    static native int premulSumCreate(long cell, long bits, int type, long communicator);

    @Name("jccl_nccl_red_op_destroy")
    static native int redOpDestroy(int operation, long communicator);

    @Name("jccl_nccl_group_start")
    static native int groupStart();

    @Name("jccl_nccl_group_end")
    static native int groupEnd();

    @Name("jccl_nccl_broadcast")
    static native int broadcast(
            long in, long out, long count, int type, int root, long communicator, long stream);

    @Name("jccl_nccl_all_reduce")
    static native int allReduce(
            long in, long out, long count, int type, int operation, long communicator, long stream);

    @Name("jccl_nccl_reduce")
    static native int reduce(
            long in,
            long out,
            long count,
            int type,
            int operation,
            int root,
            long communicator,
            long stream);

    @Name("jccl_nccl_reduce_scatter")
    static native int reduceScatter(
            long in, long out, long count, int type, int operation, long communicator, long stream);

    @Name("jccl_nccl_all_gather")
    static native int allGather(
            long in, long out, long count, int type, long communicator, long stream);

    @Name("jccl_nccl_send")
    static native int send(long in, long count, int type, int peer, long communicator, long stream);

    @Name("jccl_nccl_recv")
    static native int recv(
            long out, long count, int type, int peer, long communicator, long stream);

    @Name("jccl_nccl_gather")
    static native int gather(
            long in, long out, long count, int type, int root, long communicator, long stream);

    @Name("jccl_nccl_scatter")
    static native int scatter(
            long in, long out, long count, int type, int root, long communicator, long stream);

    @Name("jccl_nccl_all_to_all")
    static native int allToAll(
            long in, long out, long count, int type, long communicator, long stream);

    @Name("jccl_nccl_mem_alloc")
    static native long memAlloc(long bytes);

    @Name("jccl_nccl_mem_free")
    static native int memFree(long address);
}

package org.jccl.hccl;

/**
 * HCCL's functions, bound by {@link HcclLibraries}. Handles, addresses, {@code size_t} and {@code
 * uint64_t} are {@code long}; enums and {@code uint32_t} are {@code int}. Each function returns a
 * result code, except {@link #HcclGetErrorString} and {@link #HcclGetCommConfigCapability}. A
 * function that the loaded library lacks returns {@link #NOT_SUPPORT}. All functions exist in 8.1.
 */
final class Hccl {

    static final int SUCCESS = 0;
    static final int NOT_SUPPORT = 5;

    private Hccl() {}

    /** Writes {@link HcclConnector#ROOT_INFO_BYTES} bytes. */
    static native int HcclGetRootInfo(long rootInfo);

    static native int HcclCommInitRootInfoConfig(
            int ranks, long rootInfo, int rank, long config, long communicator);

    static native int HcclCommInitClusterInfoConfig(
            long path, int rank, long config, long communicator);

    /** The parent is passed as the address of a variable that holds its handle. */
    static native int HcclCreateSubCommConfig(
            long parent,
            int ranks,
            long rankIds,
            long id,
            int rank,
            long config,
            long communicator);

    static native int HcclCommDestroy(long communicator);

    /** Returns the number of the library's capabilities. */
    static native int HcclGetCommConfigCapability();

    static native int HcclGetCommAsyncError(long communicator, long result);

    /** Returns the address of a static text. */
    static native long HcclGetErrorString(int result);

    static native int HcclAllReduce(
            long input,
            long output,
            long count,
            int type,
            int operation,
            long communicator,
            long stream);

    static native int HcclBroadcast(
            long buffer, long count, int type, int root, long communicator, long stream);

    static native int HcclReduce(
            long input,
            long output,
            long count,
            int type,
            int operation,
            int root,
            long communicator,
            long stream);

    static native int HcclReduceScatter(
            long input,
            long output,
            long outputCount,
            int type,
            int operation,
            long communicator,
            long stream);

    static native int HcclReduceScatterV(
            long input,
            long inputCounts,
            long inputDisplacements,
            long output,
            long outputCount,
            int type,
            int operation,
            long communicator,
            long stream);

    static native int HcclAllGather(
            long input, long output, long inputCount, int type, long communicator, long stream);

    static native int HcclAllGatherV(
            long input,
            long inputCount,
            long output,
            long outputCounts,
            long outputDisplacements,
            int type,
            long communicator,
            long stream);

    static native int HcclScatter(
            long input,
            long output,
            long outputCount,
            int type,
            int root,
            long communicator,
            long stream);

    static native int HcclSend(
            long buffer, long count, int type, int peer, long communicator, long stream);

    static native int HcclRecv(
            long buffer, long count, int type, int peer, long communicator, long stream);

    static native int HcclAlltoAll(
            long input,
            long inputCount,
            int inputType,
            long output,
            long outputCount,
            int outputType,
            long communicator,
            long stream);

    static native int HcclAlltoAllV(
            long input,
            long inputCounts,
            long inputDisplacements,
            int inputType,
            long output,
            long outputCounts,
            long outputDisplacements,
            int outputType,
            long communicator,
            long stream);

    static native int HcclAlltoAllVC(
            long input,
            long countMatrix,
            int inputType,
            long output,
            int outputType,
            long communicator,
            long stream);

    static native int HcclBatchSendRecv(long items, int count, long communicator, long stream);
}

package org.jccl.sccl;

import org.jccl.sccl.abi.UniqueId;

/**
 * The functions of libsccl. They return an scclResult_t, unless they return a pointer. A count is
 * the number of elements of one rank; in scclAllToAll it is that of all ranks together.
 */
final class Sccl {

    private Sccl() {}

    static native long scclPhysToVirt(long handle, long address);

    static native int scclGetUniqueId(long handle, long id);

    static native int scclCommInitRank(
            long communicator, int ranks, UniqueId.ByValue id, int rank, long chipMap);

    static native int scclCommDestroy(long communicator);

    static native int scclAllGather(
            long send, long receive, long count, int type, long communicator, long handle);

    static native int scclBroadcast(
            long buffer, long count, int type, int root, long communicator, long handle);

    static native int scclAllReduce(
            long send,
            long receive,
            long count,
            int type,
            int operation,
            long communicator,
            long handle);

    static native int scclReduce(
            long send,
            long receive,
            long count,
            int type,
            int operation,
            int root,
            long communicator,
            long handle);

    static native int scclGather(
            long send,
            long receive,
            long count,
            int type,
            int root,
            long communicator,
            long handle);

    static native int scclScatter(
            long send,
            long receive,
            long count,
            int type,
            int root,
            long communicator,
            long handle);

    static native int scclAllToAll(
            long send, long receive, long count, int type, long communicator, long handle);
}

package org.jccl.benchmarks;

import java.nio.ByteBuffer;

/** The same loops in C, on a communicator of their own: {@code script/peers/mpi_loops.c}. */
final class MpiLoops {

    private MpiLoops() {}

    /** Duplicates {@code MPI_COMM_WORLD}; all ranks must call it. */
    static native void join();

    /** In place. */
    static native void allReduce(long data, int floats, boolean blocking, int repetitions);

    /** Rank 0 sends and receives, rank 1 receives and sends. */
    static native void pingPong(
            long sent, long received, int floats, boolean blocking, int repetitions);

    /** The memory as a buffer for a binding that takes nothing else. */
    static native ByteBuffer view(long address, long bytes);
}

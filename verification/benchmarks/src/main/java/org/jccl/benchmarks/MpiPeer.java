package org.jccl.benchmarks;

import java.nio.ByteBuffer;

/** Another Java binding. It is compiled where the benchmark runs. */
public interface MpiPeer {

    /**
     * Initialises MPI and joins its world.
     *
     * @throws Exception when that fails
     */
    void join() throws Exception;

    /**
     * Sums floats of all ranks in place, with the blocking call.
     *
     * @param data direct
     * @param floats their number
     * @param repetitions how often
     * @throws Exception when that fails
     */
    void allReduce(ByteBuffer data, int floats, int repetitions) throws Exception;

    /**
     * Sends from rank 0 to rank 1 and back, with the blocking calls.
     *
     * @param sent direct
     * @param received direct
     * @param floats their number
     * @param repetitions how often
     * @throws Exception when that fails
     */
    void pingPong(ByteBuffer sent, ByteBuffer received, int floats, int repetitions)
            throws Exception;
}

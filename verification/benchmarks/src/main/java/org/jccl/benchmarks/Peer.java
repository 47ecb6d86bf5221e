package org.jccl.benchmarks;

/** A library as {@link PeerRank} drives it; the ranks know of each other when it has been made. */
public interface Peer extends AutoCloseable {

    /** Tells this rank. */
    int rank();

    /** Tells the number of ranks. */
    int size();

    /**
     * Tells name and version of what is measured.
     *
     * @throws Exception when they cannot be found out
     */
    String version() throws Exception;

    /**
     * Prepares an operation on float32. {@code all_reduce}, {@code broadcast} and {@code reduce}
     * work on the output in place, and the root goes round from one call to the next, beginning
     * with rank 0, so that no rank can be calls ahead of the others; {@code sendrecv} goes from the
     * input of rank 0 to the output of rank 1, and from there to the output of rank 0.
     *
     * @param operation as {@code jccl bench} names it
     * @param input floats of the input
     * @param output floats of the output
     * @return null when it has no such operation
     * @throws Exception when that fails
     */
    Call prepare(String operation, int input, int output) throws Exception;

    @Override
    void close();

    /** An operation with its memory. */
    interface Call extends AutoCloseable {

        /**
         * Makes the call, and waits for its end.
         *
         * @throws Exception when that fails
         */
        void run() throws Exception;

        /**
         * Writes to the memory.
         *
         * @param input all of it
         * @param output all of it
         */
        void write(float[] input, float[] output);

        /** Reads the output. */
        float[] output();

        @Override
        void close();
    }
}

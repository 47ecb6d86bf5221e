package org.jccl.mpi;

import org.jccl.BackendOptions;

/**
 * Options of the MPI backend; start from {@link #defaults()}. All ranks of a group must have the
 * same options, except the progress thread.
 *
 * @param sharedWorld whether the world is {@code MPI_COMM_WORLD} itself, for jobs in which some
 *     ranks are not Java. Such a group has no store, so it supports neither {@code split} nor the
 *     monitored barrier, and does not compare the calls of stuck ranks. MPI does not match blocking
 *     calls with non-blocking ones. So JCCL makes the blocking calls, such as {@code
 *     MPI_Allreduce}, for all operations, and other ranks must make them too
 * @param checks whether ranks compare their calls before each collective, and messages match in
 *     type. MPI itself does not detect most differences, and may return wrong data or hang. A check
 *     costs about one small all_reduce. Ranks wait for one another in it, so a synchronous call
 *     throws at its deadline instead of ending the job. Sends then complete when they are received
 * @param progressThread whether a thread of the process moves messages while the program computes.
 *     Without it, they move only inside calls. The thread polls every few dozen microseconds while
 *     a message is in flight, so it uses part of a core and slightly delays other calls
 * @param trustedSizes whether ranks do not compare large collectives, and Open MPI receives without
 *     a check of the length of a message. If ranks disagree about a size, Open MPI then writes past
 *     the end of a tensor
 */
public record MpiOptions(
        boolean sharedWorld, boolean checks, boolean progressThread, boolean trustedSizes)
        implements BackendOptions {

    /**
     * Returns the default options: a world of Java ranks, which compare their calls only where Open
     * MPI may write past the end of a tensor.
     *
     * @return the options
     */
    public static MpiOptions defaults() {
        return new MpiOptions(false, false, false, false);
    }

    /**
     * Uses {@code MPI_COMM_WORLD} together with ranks that are not Java.
     *
     * @return a copy of these options with this setting
     */
    public MpiOptions withSharedWorld() {
        return new MpiOptions(true, checks, progressThread, trustedSizes);
    }

    /**
     * Compares the calls of the ranks before each collective, to find out why a job hangs or
     * returns wrong results. A synchronous call whose peers do not arrive then throws.
     *
     * @return a copy of these options with this setting
     */
    public MpiOptions withChecks() {
        return new MpiOptions(sharedWorld, true, progressThread, trustedSizes);
    }

    /**
     * Makes messages progress while the program computes. One thread serves the process, from the
     * first group with this option on.
     *
     * @return a copy of these options with this setting
     */
    public MpiOptions withProgressThread() {
        return new MpiOptions(sharedWorld, checks, true, trustedSizes);
    }

    /**
     * Disables the comparison of large collectives, and the checks that prevent Open MPI from
     * writing past the end of tensors. Use it only for programs that are known to be correct.
     *
     * @return a copy of these options with this setting
     */
    public MpiOptions withTrustedSizes() {
        return new MpiOptions(sharedWorld, checks, progressThread, true);
    }

    @Override
    public String backend() {
        return MpiProvider.NAME;
    }
}

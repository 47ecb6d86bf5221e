package org.jccl.mpi;

import org.jccl.BackendOptions;

/**
 * Options of the MPI backend; start from {@link #defaults()}. All ranks of a group must have the
 * same options, except the progress thread.
 *
 * @param sharedWorld whether the world is {@code MPI_COMM_WORLD} itself, for jobs in which some
 *     ranks are not Java. Such a group has no store, so it has no {@code split} and no monitored
 *     barrier, and stuck ranks are not compared. MPI does not match blocking calls with
 *     non-blocking ones, so other ranks must make the blocking calls, such as {@code
 *     MPI_Allreduce}; JCCL makes them too, for synchronous and asynchronous operations
 * @param checks whether ranks compare their calls before each collective, and messages match in
 *     type. MPI itself does not detect most differences, and may return wrong data or hang. A check
 *     costs about one small all_reduce. Sends then complete when they are received
 * @param progressThread whether a thread of the process moves data while the program computes.
 *     Without it, data moves only inside calls. The thread polls every few dozen microseconds while
 *     an operation is in flight, so it uses a part of a core, and makes other calls a little slower
 * @param trustedSizes whether ranks do not compare large collectives, and Open MPI receives without
 *     a check of the length of a message. If ranks disagree about a size, Open MPI then writes past
 *     the end of a tensor
 */
public record MpiOptions(
        boolean sharedWorld, boolean checks, boolean progressThread, boolean trustedSizes)
        implements BackendOptions {

    /**
     * The default options: calls with deadlines, in a world of Java ranks.
     *
     * @return the options
     */
    public static MpiOptions defaults() {
        return new MpiOptions(false, false, false, false);
    }

    /**
     * Uses {@code MPI_COMM_WORLD} together with ranks that are not Java.
     *
     * @return these options, with that
     */
    public MpiOptions withSharedWorld() {
        return new MpiOptions(true, checks, progressThread, trustedSizes);
    }

    /**
     * Compares the calls of the ranks before each collective, to find out why a job hangs or is
     * wrong.
     *
     * @return these options, with that
     */
    public MpiOptions withChecks() {
        return new MpiOptions(sharedWorld, true, progressThread, trustedSizes);
    }

    /**
     * Makes asynchronous operations progress while the program computes. One thread serves the
     * process, from the first group with this option on.
     *
     * @return these options, with that
     */
    public MpiOptions withProgressThread() {
        return new MpiOptions(sharedWorld, checks, true, trustedSizes);
    }

    /**
     * Leaves out the comparison of large collectives, and the checks that keep Open MPI from
     * writing past the end of tensors, for programs that are known to be correct.
     *
     * @return these options, with that
     */
    public MpiOptions withTrustedSizes() {
        return new MpiOptions(sharedWorld, checks, progressThread, true);
    }

    @Override
    public String backend() {
        return MpiProvider.NAME;
    }
}

package org.jccl.mpi;

import org.jccl.BackendOptions;

/**
 * Options of the MPI backend; start from {@link #defaults()}. All ranks of a group must have the
 * same options, except the progress thread.
 *
 * @param blockingCalls whether {@code group.sync()} makes MPI's blocking calls. They are about
 *     twice as fast for a few bytes. But neither a deadline, nor {@code abort()}, nor a mismatch
 *     that another rank detected can end a call that waits for a rank that never comes
 * @param sharedWorld whether the world is {@code MPI_COMM_WORLD} itself, for jobs in which some
 *     ranks are not Java. Such a group has no store, so it has no {@code split} and no monitored
 *     barrier, and stuck ranks are not compared. MPI does not match blocking calls with
 *     non-blocking ones, so {@code group.sync()} always makes blocking calls there. Other ranks
 *     must call {@code MPI_Iallreduce} and similar functions for asynchronous operations
 * @param checks whether ranks compare their calls before each collective, and messages match in
 *     type. MPI itself does not detect most differences, and may return wrong data or hang. A check
 *     costs about one small all_reduce. Sends then complete when they are received
 * @param progressThread whether a thread of the process moves data while the program computes.
 *     Without it, data moves only inside calls. The thread polls every few dozen microseconds while
 *     an operation is in flight, so it uses a part of a core, and makes other calls a little slower
 * @param trustedSizes whether Open MPI may receive without a check of the length of a message, and
 *     ranks do not compare large collectives. This is as fast as C, but if ranks disagree about a
 *     size, Open MPI writes past the end of a tensor. Other libraries ignore the option
 */
public record MpiOptions(
        boolean blockingCalls,
        boolean sharedWorld,
        boolean checks,
        boolean progressThread,
        boolean trustedSizes)
        implements BackendOptions {

    /**
     * The default options: calls with deadlines, in a world of Java ranks.
     *
     * @return the options
     */
    public static MpiOptions defaults() {
        return new MpiOptions(false, false, false, false, false);
    }

    /**
     * Makes {@code group.sync()} call MPI's blocking functions.
     *
     * @return these options, with that
     */
    public MpiOptions withBlockingCalls() {
        return new MpiOptions(true, sharedWorld, checks, progressThread, trustedSizes);
    }

    /**
     * Uses {@code MPI_COMM_WORLD} together with ranks that are not Java.
     *
     * @return these options, with that
     */
    public MpiOptions withSharedWorld() {
        return new MpiOptions(blockingCalls, true, checks, progressThread, trustedSizes);
    }

    /**
     * Compares the calls of the ranks before each collective, to find out why a job hangs or is
     * wrong.
     *
     * @return these options, with that
     */
    public MpiOptions withChecks() {
        return new MpiOptions(blockingCalls, sharedWorld, true, progressThread, trustedSizes);
    }

    /**
     * Makes asynchronous operations progress while the program computes. One thread serves the
     * process, from the first group with this option on.
     *
     * @return these options, with that
     */
    public MpiOptions withProgressThread() {
        return new MpiOptions(blockingCalls, sharedWorld, checks, true, trustedSizes);
    }

    /**
     * Leaves out the checks that keep Open MPI from writing past the end of tensors, for programs
     * that are known to be correct.
     *
     * @return these options, with that
     */
    public MpiOptions withTrustedSizes() {
        return new MpiOptions(blockingCalls, sharedWorld, checks, progressThread, true);
    }

    @Override
    public String backend() {
        return MpiProvider.NAME;
    }
}

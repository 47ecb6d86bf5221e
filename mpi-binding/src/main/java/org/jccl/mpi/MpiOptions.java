package org.jccl.mpi;

import org.jccl.BackendOptions;

/**
 * Options of the MPI backend; start from {@link #defaults()}. All ranks of a group must have the
 * same, but for the progress thread.
 *
 * @param blockingCalls whether {@code group.sync()} runs on MPI's blocking calls: about twice as
 *     fast for a few bytes, but a call that waits for a rank that never comes can not be ended by a
 *     deadline, by {@code abort()} or by a mismatch that another rank noticed
 * @param sharedWorld whether the world is {@code MPI_COMM_WORLD} itself, for jobs some of whose
 *     ranks are not Java: such a group has no store, so it can not {@code split} or do monitored
 *     barriers, and ranks that are stuck are not compared. MPI does not match blocking calls with
 *     non-blocking ones, so there {@code group.sync()} always runs on the blocking calls, and other
 *     ranks meet asynchronous ones with {@code MPI_Iallreduce} and its like
 * @param checks whether ranks compare what they are about to do before each collective, and
 *     messages match in type: MPI itself does not notice most differences, and may end in wrong
 *     data or hang; costs about one small all_reduce a call. Sends then complete when they are
 *     received
 * @param progressThread whether a thread of the process moves what is under way while the program
 *     computes; without it that happens inside calls only. It polls every few dozen microseconds
 *     while there is something, so it takes a part of a core, and makes other calls a little slower
 * @param trustedSizes whether Open MPI may receive without a look at the length of a message, and
 *     ranks do not compare large collectives: as fast as in C, but where ranks disagree on a size
 *     it writes past the end of a tensor. Changes nothing with other libraries
 */
public record MpiOptions(
        boolean blockingCalls,
        boolean sharedWorld,
        boolean checks,
        boolean progressThread,
        boolean trustedSizes)
        implements BackendOptions {

    /**
     * What holds without options: calls with deadlines, in a world of Java ranks.
     *
     * @return the options
     */
    public static MpiOptions defaults() {
        return new MpiOptions(false, false, false, false, false);
    }

    /**
     * Runs {@code group.sync()} on MPI's blocking calls.
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
     * Compares the ranks before each collective; for finding out why a job hangs or is wrong.
     *
     * @return these options, with that
     */
    public MpiOptions withChecks() {
        return new MpiOptions(blockingCalls, sharedWorld, true, progressThread, trustedSizes);
    }

    /**
     * Lets asynchronous operations move while the program computes. One thread serves the process,
     * from the first group with this option on.
     *
     * @return these options, with that
     */
    public MpiOptions withProgressThread() {
        return new MpiOptions(blockingCalls, sharedWorld, checks, true, trustedSizes);
    }

    /**
     * Leaves out what keeps Open MPI from writing past the end of tensors, for programs that are
     * known to be right.
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

package org.jccl;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * An operation that was issued and may still run. It holds its tensors' memory until it is
 * complete, also when the work itself is dropped.
 *
 * <p>Safe for use by several threads. What an operation wrote is visible to a thread after {@link
 * #await}, {@link #synchronize} or a true {@link #isCompleted} in that thread.
 *
 * <p>Waiting ignores {@link Thread#interrupt}, because no native library can stop half way; it
 * leaves the interrupt flag set. To stop a wait, {@link ProcessGroup#abort} the group. A virtual
 * thread that waits lets its carrier go; other threads do the work for it, which takes up to a
 * tenth of a millisecond more.
 *
 * <p>Programs do not implement this interface: later versions may add methods.
 */
public interface Work {

    /**
     * Orders what follows after this work. On backends that work on the host, with tensors of
     * devices too, it blocks until the work is complete; a work that has not started yet runs on
     * the calling thread. On device backends it makes the calling thread's current stream wait for
     * the work, and the host goes on; only a barrier blocks the host there too.
     *
     * @throws JcclException when the work failed; {@link JcclException.Category#FATAL_GROUP} in
     *     most cases
     */
    void await();

    /**
     * As {@link #await()}, for a limited time. The work goes on when the time is over.
     *
     * @param timeout how long at most
     * @throws WaitTimeoutException when the work is not complete in time
     * @throws UsageException when the timeout is null or negative
     * @throws JcclException when the work failed
     */
    void await(Duration timeout);

    /**
     * Blocks the calling thread until the work is complete, on any backend.
     *
     * @throws JcclException when the work failed
     */
    void synchronize();

    /**
     * Whether the work is complete, successfully or not. Never blocks.
     *
     * @return true once it is
     */
    boolean isCompleted();

    /**
     * Why the work failed.
     *
     * @return empty while it runs and when it succeeded
     */
    Optional<JcclException> exception();

    /**
     * A future of this work.
     *
     * @return completes when the work does, exceptionally when it failed; cancelling it does
     *     nothing to the work; what depends on it runs in the common pool
     */
    CompletableFuture<Void> toFuture();

    /**
     * How long the operation ran, from its start to its completion.
     *
     * @return empty while it runs
     */
    Optional<Duration> duration();

    /**
     * Rank the message came from.
     *
     * @return a rank for a completed receive, -1 for anything else
     */
    int sourceRank();

    /**
     * Position of this work. Collectives are numbered from 0 on each group, the same on all ranks;
     * messages from 0 for each peer and tag.
     *
     * @return the number; -1 for a receive from any source
     */
    long sequence();
}

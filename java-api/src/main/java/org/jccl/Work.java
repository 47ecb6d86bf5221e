package org.jccl;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * An operation that was issued and may still run. It retains the memory of its tensors until it is
 * complete, even if the work is dropped.
 *
 * <p>Thread-safe. The results of an operation are visible to a thread after {@link #await}, {@link
 * #synchronize} or a true {@link #isCompleted} in that thread.
 *
 * <p>An interrupt does not end a wait, because native libraries cannot stop halfway; the interrupt
 * flag stays set. To end a wait, {@link ProcessGroup#abort} the group. A virtual thread that waits
 * releases its platform thread. Another thread then runs the operation, which takes up to 0.1 ms
 * longer.
 *
 * <p>Programs must not implement this interface: later versions may add methods.
 */
public interface Work {

    /**
     * Orders later operations of the calling thread after this work. On host backends, even with
     * device tensors, it blocks until the work is complete; a work that has not started runs on the
     * calling thread. On device backends, it makes the current stream of the calling thread wait
     * for the work. The host does not block, except for a barrier.
     *
     * @throws JcclException if the work failed; usually of {@link
     *     JcclException.Category#FATAL_GROUP}
     */
    void await();

    /**
     * Same as {@link #await()}, for a limited time. The work continues after the timeout.
     *
     * @param timeout the maximum time to wait
     * @throws WaitTimeoutException if the work is not complete in time
     * @throws UsageException if the timeout is null or negative
     * @throws JcclException if the work failed
     */
    void await(Duration timeout);

    /**
     * Blocks the calling thread until the work is complete, on any backend.
     *
     * @throws JcclException if the work failed
     */
    void synchronize();

    /**
     * Returns whether the work is complete, successfully or not. Never blocks.
     *
     * @return true once it is
     */
    boolean isCompleted();

    /**
     * Returns why the work failed.
     *
     * @return empty while it runs and if it succeeded
     */
    Optional<JcclException> exception();

    /**
     * Returns a future of this work.
     *
     * @return a future that completes with the work, exceptionally if it failed. Cancelling it does
     *     not cancel the work. Dependent stages run in the common pool
     */
    CompletableFuture<Void> toFuture();

    /**
     * Returns the event that marks the end of the operation. The program can make a stream wait for
     * it ({@link Stream#waitEvent}), query it, or pass it to other libraries ({@link Event#handle},
     * {@link Event#pointer}). The program must not record it, and must close it before the group.
     *
     * @return the event; empty on host backends, which have none, and if a graph was captured
     * @throws JcclException if the work failed
     */
    Optional<Event> event();

    /**
     * Returns the rank from which a message came.
     *
     * @return a rank for a completed receive, otherwise -1
     */
    int sourceRank();

    /**
     * Returns the position of this work. Collectives are numbered from 0 on each group, the same on
     * all ranks; messages are numbered from 0 for each peer and tag.
     *
     * @return the number; -1 for a receive from any source
     */
    long sequence();
}

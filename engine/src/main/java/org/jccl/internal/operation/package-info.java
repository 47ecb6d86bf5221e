/**
 * One checked call ({@link org.jccl.internal.operation.Operation}), the calls in flight, their
 * numbers, what observers see of them, and the bounce buffer for parts that are not contiguous.
 * Uses memory. One lock, the monitor of {@link org.jccl.internal.operation.RunningOperations}, held
 * for a few instructions: its holder calls neither a library nor a device nor the store.
 *
 * <p>An operation is a mutable record of one call. An asynchronous call creates one that is also
 * the {@code Work}. A synchronous call borrows one from a pool and returns it. While it runs, it
 * retains the memory of its tensors.
 */
package org.jccl.internal.operation;

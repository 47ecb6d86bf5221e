/**
 * The engine of libraries that work on the calling thread, and where it finds tensors. Uses engine.
 * Locks in their order: the queue lock (held while a collective is in the library; threads wait for
 * it only until the group fails), a work's own monitor, the monitor of the running operations.
 *
 * <p>Collectives have one order, that of their numbers. Asynchronous ones wait in a queue. The
 * thread that holds the queue lock executes the head of the queue: the worker thread of the group,
 * a thread that awaits a work, or a synchronous caller, which first executes what was issued
 * before. A virtual thread leaves this to the worker. Messages start at once, need no lock, and
 * return a request that one waiting thread claims.
 *
 * <p>A failure of the group ends what is queued at once. A work that its thread or the library
 * still has after the grace period fails too, for those who wait: its memory is not released before
 * the thread is back.
 *
 * <p>If a library starts collectives without waiting, a group has at most 128 of them. Lists of
 * tensors that are not contiguous are copied through a {@link
 * org.jccl.internal.operation.BounceBuffer}.
 *
 * <p>Some of these libraries also take memory of devices that another binding drives ({@link
 * org.jccl.internal.host.DeviceLocation}): the caller waits for its current stream before an
 * operation is issued, and each thread that enters the library makes the device current first.
 */
package org.jccl.internal.host;

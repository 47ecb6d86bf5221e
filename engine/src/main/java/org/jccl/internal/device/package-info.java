/**
 * The engine of libraries that enqueue on streams; streams and events. Uses engine and failures.
 * Locks in their order: issuing (held while the library enqueues; the watchdog never takes it, and
 * other threads wait for it only while the group is usable), polling, the monitor of the running
 * operations, the locks of failures. A work's own monitor is held while its event is asked, with
 * none of these inside, and never while something is enqueued, which blocks where a stream is full:
 * the watchdog takes it.
 *
 * <p>An asynchronous operation waits on the group's own stream for an event on the caller's current
 * stream, runs there, and is followed by its end event. {@code Work.await} makes the caller's
 * stream wait for that event. A synchronous operation is enqueued on the caller's stream without an
 * event; {@link org.jccl.internal.device.SynchronousCalls} records one event for all of them at
 * each tick of the watchdog, so that a hang is noticed, and retains their memory until it is
 * complete. {@link org.jccl.internal.device.WorkRing} has the works in the order in which they end,
 * so if the newest work is complete, so are all before it.
 *
 * <p>A call that enqueues may block behind a stuck operation. So the watchdog enqueues nothing, and
 * neither the watchdog nor {@code close()} takes a lock under which other threads enqueue.
 *
 * <p>{@code org.jccl.internal.device.failures} tracks which operations happen before each point on
 * a stream, so that a wait for a failed operation throws. An engine whose operations wait for those
 * of a failing group fails before that group is aborted.
 *
 * <p>Some devices continue after a failed operation (ACL's). There operations run only on streams
 * of JCCL, which stop and can be asked, and a synchronous operation on another stream becomes an
 * asynchronous one that is awaited.
 */
package org.jccl.internal.device;

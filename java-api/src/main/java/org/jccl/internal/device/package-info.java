/**
 * The engine of libraries that enqueue on streams; streams, events, and what they were ordered
 * after. Uses engine. Locks in their order: issuing (held while the library enqueues; the watchdog
 * never takes it), following, the monitor of the running operations, the orders of a device's
 * streams, a lane. A work's own monitor is held while its event is asked, with none of these
 * inside, and never while something is enqueued, which blocks where a stream is full: the watchdog
 * takes it.
 */
package org.jccl.internal.device;

/**
 * The engine of libraries that enqueue on streams; streams, events, and what they were ordered
 * after. Uses engine. Locks in their order: issuing (held while the library enqueues; the watchdog
 * never takes it), following, a device's stream orders, a work's own monitor, the monitor of the
 * running operations.
 */
package org.jccl.internal.device;

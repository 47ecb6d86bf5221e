/**
 * Device tensors for libraries that work on host memory and another binding's devices: copied down
 * into page-locked memory, through the library, and up again. Uses host for the engine, device for
 * events. Locks in their order: the engine's queue lock (held while a collective runs); those of
 * the copy streams and of the pools, which are held for a few instructions.
 *
 * <p>An event is recorded on the caller's stream when the operation is issued. The thread that
 * executes a collective polls that event and does not block in the vendor's library, so a failure
 * of the group ends the wait. Then whole tensors are copied, as c10d does. A thread of its own
 * passes sends to the library. An operation is complete when its copies up are, so streams need not
 * remember the engine.
 *
 * <p>Memory that a copy or the library may still use is never given back. All waits of a failed
 * group have one deadline, which begins with the failure.
 */
package org.jccl.internal.staged;

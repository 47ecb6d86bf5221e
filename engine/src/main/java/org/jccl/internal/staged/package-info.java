/**
 * Device tensors for libraries that work on host memory and another binding's devices: copied down
 * into page-locked memory, through the library, and up again. Uses host for the engine, device for
 * events. Locks in their order: the engine's queue lock (held while a collective runs), an incoming
 * message's own, that of the messages on their way out; those of the pools inside all of them,
 * which are held for a few instructions.
 *
 * <p>An event is recorded on the caller's stream when the operation is issued. Collectives go
 * through the {@link org.jccl.internal.staged.Pipeline} in windows (down, through the library, up);
 * messages go in one piece. The thread that executes an operation polls that event and does not
 * block in the vendor's library, so a failure of the group ends the wait. An operation is complete
 * when its copies up are, so streams need not remember the engine.
 */
package org.jccl.internal.staged;

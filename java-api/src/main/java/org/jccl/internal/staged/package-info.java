/**
 * Device tensors for libraries that work on host memory and another binding's devices: copied down
 * into page-locked memory, through the library, and up again. Uses host for the engine, device for
 * events. Locks in their order: the engine's turn (held by whoever runs a collective), an incoming
 * message's own, that of the messages on their way out; those of the pools inside all of them,
 * which are held for a few instructions.
 */
package org.jccl.internal.staged;

/**
 * The engine of libraries that work on the calling thread, and where it finds tensors. Uses engine.
 * Locks in their order: the turn (held while a collective is in the library), a work's own monitor,
 * the monitor of the running operations.
 */
package org.jccl.internal.host;

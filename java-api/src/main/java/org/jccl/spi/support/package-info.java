/**
 * Helpers for bindings; nothing else uses them, and a binding need not.
 *
 * <ul>
 *   <li>{@link org.jccl.spi.support.NativeLibraries} loads libraries from the binding's jar; {@link
 *       org.jccl.spi.support.LibrarySearch} finds those of the host.
 *   <li>{@link org.jccl.spi.support.CommunicatorHandle} manages the life of a native communicator
 *       that may block.
 *   <li>{@link org.jccl.spi.support.MessageBatch} orders the messages of a batch, and {@link
 *       org.jccl.spi.support.NativeStatus} is what a shim of ours returns.
 * </ul>
 */
package org.jccl.spi.support;

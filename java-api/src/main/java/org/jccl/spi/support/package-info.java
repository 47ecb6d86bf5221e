/**
 * Optional helpers for bindings. Only bindings use them.
 *
 * <ul>
 *   <li>{@link org.jccl.spi.support.NativeLibraries} loads libraries from the binding's jar; {@link
 *       org.jccl.spi.support.LibrarySearch} finds those of the host.
 *   <li>{@link org.jccl.spi.support.CommunicatorHandle} manages the life of a native communicator
 *       that may block.
 *   <li>{@link org.jccl.spi.support.MessageBatch} orders the messages of a batch, and {@link
 *       org.jccl.spi.support.NativeStatus} is the result of JCCL's own native code.
 * </ul>
 */
package org.jccl.spi.support;

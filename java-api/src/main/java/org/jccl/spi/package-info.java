/**
 * What a binding implements, and helpers for it.
 *
 * <ul>
 *   <li>A binding implements {@link org.jccl.spi.BackendProvider}, and a {@link
 *       org.jccl.spi.HostCommunicator} or a {@link org.jccl.spi.StreamCommunicator} with its {@link
 *       org.jccl.spi.DeviceRuntime}.
 *   <li>{@link org.jccl.spi.NativeLibraries} loads libraries from the binding's jar; {@link
 *       org.jccl.spi.LibrarySearch} finds those of the host.
 *   <li>{@link org.jccl.spi.CommunicatorConfig} describes a group; its methods fetch what rank 0
 *       puts into the store, and name missing ranks. {@link org.jccl.spi.Arrivals} and {@link
 *       org.jccl.spi.WaitLog} do so too.
 *   <li>{@link org.jccl.spi.BoundedCall} runs native calls that may never return, {@link
 *       org.jccl.spi.CleanUp} logs failures of calls that only clean up, and {@link
 *       org.jccl.spi.CommunicatorHandle} manages the life of a native communicator that may block.
 * </ul>
 */
package org.jccl.spi;

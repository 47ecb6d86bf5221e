/**
 * The interfaces that a binding implements, and classes that bindings share with the engine.
 * Helpers for bindings only are in {@link org.jccl.spi.support}.
 *
 * <ul>
 *   <li>A binding implements {@link org.jccl.spi.BackendProvider}, and a {@link
 *       org.jccl.spi.HostCommunicator} or a {@link org.jccl.spi.StreamCommunicator} with its {@link
 *       org.jccl.spi.DeviceRuntime}.
 *   <li>{@link org.jccl.spi.CommunicatorConfig} describes a group; its methods fetch values of rank
 *       0 from the store and name missing ranks. {@link org.jccl.spi.Arrivals} and {@link
 *       org.jccl.spi.WaitLog} name missing ranks too.
 *   <li>{@link org.jccl.spi.BoundedCall} runs native calls that may never return, and {@link
 *       org.jccl.spi.CleanUp} logs failures of calls that only clean up.
 * </ul>
 */
package org.jccl.spi;

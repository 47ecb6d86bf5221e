/**
 * Where the bytes are: the lifetime of memory behind tensors, reading and writing host memory, and
 * the threads that give memory of devices back. Uses the SPI only. {@link
 * org.jccl.internal.memory.Memory} counts users with a compare-and-set and has no lock; a {@link
 * org.jccl.internal.memory.Reaper} has its queue's, under which nothing is called.
 *
 * <p>An operation retains the memory of its tensors while it runs. {@code Tensor.close} frees
 * memory after the last user has released it. Memory of devices, and what {@code Tensor.adopt} was
 * given, is freed by the reaper of the device: a vendor's free may wait for all that runs there,
 * and so for a stuck operation that the watchdog is about to end. There is one reaper for a device,
 * since tensors belong to no world. Where the vendor's free does not wait, the reaper first waits
 * for the streams on which the tensor was copied, as PyTorch's {@code record_stream} does. Large
 * host tensors come from a binding's {@link org.jccl.spi.HostAllocator} if one is present.
 */
package org.jccl.internal.memory;

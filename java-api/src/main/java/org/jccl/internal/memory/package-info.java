/**
 * Where the bytes are: the lifetime of memory behind tensors, reading and writing host memory, and
 * the threads that give memory of devices back. Uses the SPI only. {@link
 * org.jccl.internal.memory.Memory} counts users with a compare-and-set and has no lock; a {@link
 * org.jccl.internal.memory.Reaper} has its queue's, under which nothing is called.
 */
package org.jccl.internal.memory;

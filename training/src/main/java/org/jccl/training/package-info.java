/**
 * The training kit, free of any framework: {@link org.jccl.training.GradientReducer} averages
 * gradients in buckets while the backward pass still runs, {@link org.jccl.training.DeviceMesh}
 * divides the ranks into the groups of a parallel model, {@link
 * org.jccl.training.DistributedSampler} divides the samples, and {@link
 * org.jccl.training.Checkpoint} saves and loads what the ranks hold together.
 *
 * <p>The package uses the public API only. Locks: that of a reducer, which is held while operations
 * are issued and, in {@code finish} and {@code join}, while they are awaited; and the monitor of a
 * mesh's groups, which is held while they are made. Neither is taken inside the other. A save of a
 * checkpoint has a lock of the operating system on its directory.
 */
package org.jccl.training;

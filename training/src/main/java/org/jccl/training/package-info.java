/**
 * The training kit, which depends on no framework: {@link org.jccl.training.GradientReducer}
 * averages gradients in buckets while the backward pass still runs, {@link
 * org.jccl.training.DeviceMesh} divides the ranks into the groups of a parallel model, {@link
 * org.jccl.training.DistributedSampler} divides the samples, and {@link
 * org.jccl.training.Checkpoint} saves and loads distributed tensors.
 *
 * <p>The package uses only the public API. It has two locks, which are never nested. The lock of a
 * reducer is held while it issues operations and while {@code finish} and {@code join} wait for
 * them. The monitor of a mesh's groups is held while it creates groups. A save of a checkpoint also
 * holds an operating system lock on its directory.
 */
package org.jccl.training;

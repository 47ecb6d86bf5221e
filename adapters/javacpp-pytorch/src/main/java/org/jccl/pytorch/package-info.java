/**
 * PyTorch from Java, by its JavaCPP presets, on several ranks: {@link
 * org.jccl.pytorch.DistributedDataParallel} averages the gradients of a module while the backward
 * pass runs, {@link org.jccl.pytorch.FullyShardedDataParallel} divides a module over the ranks,
 * {@link org.jccl.pytorch.TorchTensors} shares tensors between PyTorch and process groups, {@link
 * org.jccl.pytorch.TorchCheckpoint} saves modules and optimizers, {@link org.jccl.pytorch.Autocast}
 * and {@link org.jccl.pytorch.GradientScaler} train in 16 bits, {@link
 * org.jccl.pytorch.SyncBatchNorm} normalizes over all ranks, {@link org.jccl.pytorch.TorchStreams}
 * does so with CUDA streams, and {@link org.jccl.pytorch.TorchLibrary} loads PyTorch where several
 * processes start at once.
 *
 * <p>Everything about buckets and parts is in {@code org.jccl.training}. Locks: that of a {@code
 * DistributedDataParallel}, inside which its reducer's is taken.
 */
package org.jccl.pytorch;

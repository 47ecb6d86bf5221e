/**
 * Training with the Deep Java Library over the ranks of a group: {@link
 * org.jccl.djl.DistributedTrainer} in the place of DJL's trainer, and {@link
 * org.jccl.djl.ShardedSampler} for what each rank reads of a data set. Both wait for the other
 * ranks, on the thread that runs the loop; there are no locks.
 */
package org.jccl.djl;

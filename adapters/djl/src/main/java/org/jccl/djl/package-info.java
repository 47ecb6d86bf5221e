/**
 * Training with the Deep Java Library over the ranks of a group: {@link
 * org.jccl.djl.DistributedTrainer} replaces DJL's trainer, and {@link org.jccl.djl.ShardedSampler}
 * gives each rank its part of a data set. Both wait for the other ranks on the thread that runs the
 * loop. There are no locks.
 */
package org.jccl.djl;

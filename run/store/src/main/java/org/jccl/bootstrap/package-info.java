/**
 * Finds the rank of this process, the world size, and the store at which all ranks meet, from the
 * environment of a launcher or from an init method.
 *
 * <p>The launchers are tried in a fixed order ({@link org.jccl.bootstrap.ClusterEnvironment}); the
 * first whose variables are present is used and logged. Missing or contradictory variables are
 * errors that name them. torchrun may keep one store for all attempts, so a restarted world uses a
 * part of it that is named after the attempt. If the thread that joined the world ends with an
 * exception, {@link org.jccl.bootstrap.ErrorFile} writes it to the file that torchrun reads.
 */
package org.jccl.bootstrap;

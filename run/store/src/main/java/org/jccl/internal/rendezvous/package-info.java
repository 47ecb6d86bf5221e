/**
 * The store at which the ranks of a job meet: the process that serves it, the run to which it
 * belongs, and the environment variables that define both. {@code org.jccl.bootstrap} and the
 * launcher of {@code org.jccl.launch} share this package. It has no locks.
 *
 * <p>Under torchrun and {@code jccl run}, the store contains the id of the run ({@link
 * org.jccl.internal.rendezvous.RunId}). A rank of another run at the same address gets an error
 * that names both. The rank that serves a store closes it last: its {@code close()} waits up to
 * three seconds until no other rank is connected. If a library such as MPI defines the world and
 * can broadcast, rank 0 serves a store with a secret and broadcasts the addresses of its host
 * ({@link org.jccl.internal.rendezvous.WorldStore}).
 */
package org.jccl.internal.rendezvous;

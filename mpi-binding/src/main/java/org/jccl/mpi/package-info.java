/**
 * The MPI backend. Programs need only {@link org.jccl.mpi.MpiOptions}, and only for settings other
 * than the defaults.
 */
package org.jccl.mpi;

/** The MPI backend. Programs only need {@link org.jccl.mpi.MpiOptions}, and rarely. */
package org.jccl.mpi;

/** The MPI backend. Programs need only {@link org.jccl.mpi.MpiOptions}, and that rarely. */
package org.jccl.mpi;

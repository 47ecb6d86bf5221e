/**
 * NCCL on CUDA devices, through a shim and the libraries of the host; see {@link
 * org.jccl.nccl.NcclProvider}.
 */
package org.jccl.nccl;

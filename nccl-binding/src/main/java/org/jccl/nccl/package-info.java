/** NCCL through the JavaCPP presets for CUDA; see {@link org.jccl.nccl.NcclProvider}. */
package org.jccl.nccl;

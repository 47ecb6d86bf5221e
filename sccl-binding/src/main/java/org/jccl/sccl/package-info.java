/** SCCL through JNA; see {@link org.jccl.sccl.ScclProvider}. */
package org.jccl.sccl;

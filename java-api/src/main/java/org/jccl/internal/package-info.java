/** Engines, argument checks and memory access. Not exported: free to change. */
package org.jccl.internal;

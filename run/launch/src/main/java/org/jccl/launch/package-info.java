/**
 * Starts the ranks of a job as processes, with roles and restarts, and replaces lost ranks. The
 * entry point is {@link org.jccl.launch.ProcessLauncher}.
 */
package org.jccl.launch;

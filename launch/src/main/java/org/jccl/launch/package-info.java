/**
 * Starts the ranks of a job as processes, with roles, restarts, and elastic jobs whose nodes join
 * and leave. Start with {@link org.jccl.launch.ProcessLauncher}.
 */
package org.jccl.launch;

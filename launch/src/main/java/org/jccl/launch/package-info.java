/**
 * Starts the ranks of a job as processes: launcher, roles, restarts, and jobs whose nodes come and
 * go. {@link org.jccl.launch.ProcessLauncher} is where to begin.
 */
package org.jccl.launch;

/** The {@code jccl} command: one class for the command and one for each subcommand. */
package org.jccl.cli;

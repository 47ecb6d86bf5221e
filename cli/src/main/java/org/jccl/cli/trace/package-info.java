/** The {@code jccl trace} command. */
package org.jccl.cli.trace;

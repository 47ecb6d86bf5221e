/** Measuring and checking operations: {@code jccl bench}. */
package org.jccl.cli.bench;

/** {@code jccl ranktable}: makes, checks and shows rank tables. */
package org.jccl.cli.ranktable;

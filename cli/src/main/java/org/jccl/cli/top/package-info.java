/** {@code jccl top}: where the ranks of a running job are, from the files that they write. */
package org.jccl.cli.top;

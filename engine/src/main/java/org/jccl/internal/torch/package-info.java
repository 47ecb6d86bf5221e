/**
 * Worlds that have PyTorch's ranks too: the keys under which PyTorch's ranks form the communicators
 * of each group, and the colors by which they split them. Implements {@link
 * org.jccl.internal.group.GroupKeys}; only {@code internal.api} names it, to pass it on. One
 * monitor, around the number of groups made.
 */
package org.jccl.internal.torch;

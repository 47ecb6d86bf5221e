/**
 * Key-value stores through which ranks find each other: implementations of {@link org.jccl.Store}.
 *
 * <ul>
 *   <li>{@link org.jccl.store.TcpStoreServer} and {@link org.jccl.store.TcpStore}: server and
 *       client of the wire protocol of PyTorch's TCPStore, which Java and Python processes can
 *       share. The usual choice.
 *   <li>{@link org.jccl.store.FileStore}: a file in the format of PyTorch's FileStore.
 *   <li>{@link org.jccl.store.HashStore}: a store in the memory of this process, for ranks that are
 *       threads.
 *   <li>{@link org.jccl.store.PrefixStore}: a view of another store.
 *   <li>{@link org.jccl.store.AbstractStore}: a base for stores on other services.
 * </ul>
 *
 * <p>All stores reject the same arguments: keys of more than 8191 bytes in UTF-8, values of more
 * than 8 MiB, lists of more than 131,072 keys, and negative timeouts. A wait with timeout zero
 * checks once and does not block.
 */
package org.jccl.store;

/**
 * Key-value stores through which ranks find each other: implementations of {@link org.jccl.Store}.
 *
 * <ul>
 *   <li>{@link org.jccl.store.TcpStoreServer} and {@link org.jccl.store.TcpStore}: server and
 *       client of the wire protocol of PyTorch's TCPStore, so Java and Python processes can share
 *       one. The usual choice.
 *   <li>{@link org.jccl.store.FileStore}: a file in the format of PyTorch's FileStore.
 *   <li>{@link org.jccl.store.HashStore}: memory of this process, for ranks that are threads.
 *   <li>{@link org.jccl.store.PrefixStore}: a part of another store.
 * </ul>
 *
 * <p>All refuse the same arguments: keys of more than 8191 bytes in UTF-8, values of more than 8
 * MiB, lists of more than 131,072 keys, negative timeouts. A timeout of zero looks once.
 */
package org.jccl.store;

/**
 * Key-value stores through which ranks find each other. {@code TcpStore} speaks the wire protocol
 * of PyTorch's TCPStore, so Java and Python processes can share one.
 */
package org.jccl.store;

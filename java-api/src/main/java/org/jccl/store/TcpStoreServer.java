package org.jccl.store;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.Map;
import org.jccl.StoreException;

/**
 * A server of PyTorch's TCPStore protocol (as of PyTorch 2.13). {@link TcpStore} and PyTorch
 * clients can use it together. One daemon thread serves all connections, thousands of them.
 *
 * <p>Anybody who can reach the port can read and change the store, as with PyTorch's. Bind to an
 * interface that only the job's hosts can reach, or give a secret: then clients must prove that
 * they know it (HMAC-SHA256 over random numbers of both sides, in two extra opcodes 160 and 161;
 * the secret itself is never sent), and PyTorch clients are refused. The secret keeps strangers
 * out; it does not encrypt.
 *
 * <p>A connection is closed, and nothing else happens, when its client does not start with
 * PyTorch's VALIDATE message within 30 seconds, sends garbage or an unknown opcode, announces a key
 * of more than 8192 bytes, a value of more than 8 MiB, a list of more than 131,072 keys or a
 * request of more than an eighth of the heap (16 MiB at least, 256 MiB at most), adds to a value
 * that is not a number, or does not read its answers while more than 16 MiB of them wait. Before
 * the secret is proved nothing but the messages of the handshake is taken. A request for which
 * there is no memory closes its connection as well. What is stored has no limit of its own.
 *
 * <p>Keep the server open until all clients are done. Safe for use by several threads.
 */
public final class TcpStoreServer implements AutoCloseable {

    private static final int PENDING_CONNECTIONS = 4096;
    private static final Duration HANDSHAKE_TIMEOUT = Duration.ofSeconds(30);

    private final InetSocketAddress address;
    private final ServerLoop loop;
    private final Thread thread;

    private TcpStoreServer(
            ServerSocketChannel listener,
            SharedSecret secret,
            Duration handshakeTimeout,
            Map<String, byte[]> contents)
            throws IOException {
        this.address = (InetSocketAddress) listener.getLocalAddress();
        this.loop = new ServerLoop(this, listener, secret, contents, handshakeTimeout);
        this.thread = new Thread(loop, "jccl-store-" + address.getPort());
        thread.setDaemon(true);
    }

    /**
     * Starts a server that any TCPStore client may use.
     *
     * @param address interface and port to listen on; port 0 takes a free one, see {@link #port()}
     * @return the running server
     * @throws StoreException when the address can not be bound
     * @throws org.jccl.UsageException when the address is null
     */
    public static TcpStoreServer bind(InetSocketAddress address) {
        return start(listen(address), null, HANDSHAKE_TIMEOUT);
    }

    /**
     * Starts a server that any TCPStore client may use, and that has some keys before the first
     * client can connect.
     *
     * @param address interface and port to listen on; port 0 takes a free one, see {@link #port()}
     * @param contents keys and their values; copied
     * @return the running server
     * @throws StoreException when the address can not be bound
     * @throws org.jccl.UsageException when the address, the map, a key or a value is null, or a key
     *     or a value is too long
     */
    public static TcpStoreServer bind(InetSocketAddress address, Map<String, byte[]> contents) {
        if (contents == null) {
            throw StoreArguments.usage("The contents are null; pass an empty map for none");
        }
        contents.forEach(StoreArguments::value);
        return start(listen(address), null, HANDSHAKE_TIMEOUT, contents);
    }

    /**
     * Starts a server for {@link TcpStore} clients that know a secret.
     *
     * @param address interface and port to listen on; port 0 takes a free one, see {@link #port()}
     * @param secret at least one byte, better 16 random ones; copied
     * @return the running server
     * @throws StoreException when the address can not be bound
     * @throws org.jccl.UsageException when the address is null or the secret null or empty
     */
    public static TcpStoreServer bind(InetSocketAddress address, byte[] secret) {
        SharedSecret shared = new SharedSecret(secret);
        return start(listen(address), shared, HANDSHAKE_TIMEOUT);
    }

    /**
     * Starts a server on a channel that is already listening, so that a port can be chosen and
     * published before the server exists.
     *
     * @param listener a bound channel; the server owns it from now on
     * @return the running server
     * @throws StoreException when the channel can not be used
     * @throws org.jccl.UsageException when the channel is null or not bound
     */
    public static TcpStoreServer adopt(ServerSocketChannel listener) {
        return start(requireBound(listener), null, HANDSHAKE_TIMEOUT);
    }

    /**
     * Starts a server for clients that know a secret, on a channel that is already listening.
     *
     * @param listener a bound channel; the server owns it from now on
     * @param secret at least one byte, better 16 random ones; copied
     * @return the running server
     * @throws StoreException when the channel can not be used
     * @throws org.jccl.UsageException when the channel is null or not bound, or the secret null or
     *     empty
     */
    public static TcpStoreServer adopt(ServerSocketChannel listener, byte[] secret) {
        SharedSecret shared = new SharedSecret(secret);
        return start(requireBound(listener), shared, HANDSHAKE_TIMEOUT);
    }

    static TcpStoreServer start(
            ServerSocketChannel listener, SharedSecret secret, Duration handshakeTimeout) {
        return start(listener, secret, handshakeTimeout, Map.of());
    }

    private static TcpStoreServer start(
            ServerSocketChannel listener,
            SharedSecret secret,
            Duration handshakeTimeout,
            Map<String, byte[]> contents) {
        try {
            TcpStoreServer server =
                    new TcpStoreServer(listener, secret, handshakeTimeout, contents);
            server.thread.start();
            return server;
        } catch (IOException e) {
            ServerLoop.closeQuietly(listener);
            throw new StoreException(
                    "Can not serve a store on %s: %s. Check the process's limit of open files"
                            .formatted(listener, e.getMessage()),
                    e);
        }
    }

    static ServerSocketChannel listen(InetSocketAddress address) {
        if (address == null) {
            throw StoreArguments.usage(
                    "The address to listen on is null; pass an interface and a port, 0 for a free one");
        }
        ServerSocketChannel listener = null;
        try {
            if (address.isUnresolved()) {
                throw new IOException("unknown host");
            }
            listener = ServerSocketChannel.open();
            return listener.bind(address, PENDING_CONNECTIONS);
        } catch (IOException e) {
            ServerLoop.closeQuietly(listener);
            throw new StoreException(
                    "Can not serve a store on %s:%d: %s. Choose a free port (0 takes any) and an address of this host"
                            .formatted(address.getHostString(), address.getPort(), e.getMessage()),
                    e);
        }
    }

    private static ServerSocketChannel requireBound(ServerSocketChannel listener) {
        if (listener == null || !listener.isOpen() || !listener.socket().isBound()) {
            throw StoreArguments.usage(
                    "The channel to adopt is %s; pass an open one that is bound"
                            .formatted(listener));
        }
        return listener;
    }

    /**
     * The port the server listens on.
     *
     * @return the port, also where 0 was asked for
     */
    public int port() {
        return address.getPort();
    }

    /**
     * The address the server listens on.
     *
     * @return interface and port
     */
    public InetSocketAddress address() {
        return address;
    }

    /**
     * How many requests clients have made, those of their handshakes included. It tells how busy
     * the server is; one that answers some ten thousand in a second has little left.
     *
     * @return the number since the server began
     */
    public long requests() {
        return loop.requests();
    }

    /**
     * Waits until no client is connected, so that closing the server disturbs nobody. Interrupting
     * the thread ends the wait, and leaves the flag set.
     *
     * @param timeout how long at most
     * @return whether all clients have gone
     * @throws org.jccl.UsageException when the duration is null or negative
     */
    public boolean awaitNoClients(Duration timeout) {
        return loop.awaitNoClients(Deadline.after(StoreArguments.timeout(timeout)));
    }

    /**
     * Stops the server and closes all connections; what was stored is gone. Clients get a {@link
     * StoreException}. Returns when the thread has ended. Closing twice is harmless.
     */
    @Override
    public void close() {
        loop.stop();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return "TcpStoreServer(" + address.getHostString() + ":" + address.getPort() + ")";
    }
}

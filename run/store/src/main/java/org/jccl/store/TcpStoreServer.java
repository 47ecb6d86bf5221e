package org.jccl.store;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jccl.StoreException;
import org.jccl.TlsCredentials;
import org.jccl.spi.Deadline;

/**
 * A server of PyTorch's TCPStore protocol (as of PyTorch 2.13). {@link TcpStore} and PyTorch
 * clients can share it. One daemon thread serves all connections and can serve thousands.
 *
 * <p>Without a secret, any process that can reach the port can read and change the store, as with
 * PyTorch's server. Bind to an interface that only the job's hosts can reach, or set a secret.
 * Clients must then prove that they know the secret, and PyTorch clients are rejected. The proof is
 * an HMAC-SHA256 over nonces of both sides, in the extra opcodes 160 and 161; the secret is never
 * sent. The secret provides authentication but no encryption. With {@link TlsCredentials}, the
 * server uses TLS 1.3 and requires a certificate of each client; PyTorch clients are rejected.
 *
 * <p>The server closes a connection, without other effects, if its client does not send PyTorch's
 * VALIDATE message within 30 seconds, or sends an unknown opcode or an invalid message. The limits
 * are 8192 bytes per key, 8 MiB per value, 131,072 keys per list, and an eighth of the heap per
 * request (at least 16 MiB, at most 256 MiB). The server also closes a connection if its client
 * adds to a value that is not a number, does not read its answers while more than 16 MiB of them
 * are pending, or sends a request for which there is not enough memory. Until the secret is proved,
 * only handshake messages are accepted. The total size of the stored values is not limited.
 *
 * <p>The owner must keep the server open until all clients are done. Thread-safe.
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
            TlsContext tls,
            Duration handshakeTimeout,
            Map<String, byte[]> contents)
            throws IOException {
        this.address = (InetSocketAddress) listener.getLocalAddress();
        this.loop = new ServerLoop(this, listener, secret, tls, contents, handshakeTimeout);
        this.thread = new Thread(loop, "jccl-store-" + address.getPort());
        thread.setDaemon(true);
    }

    /**
     * Starts a server that any TCPStore client may use.
     *
     * @param address interface and port to listen on; port 0 takes a free one, see {@link #port()}
     * @return the running server
     * @throws StoreException if the address cannot be bound
     * @throws org.jccl.UsageException if the address is null
     */
    public static TcpStoreServer bind(InetSocketAddress address) {
        return start(listen(address), null, HANDSHAKE_TIMEOUT);
    }

    /**
     * Starts a server that any TCPStore client may use, with initial keys that exist before the
     * first client connects.
     *
     * @param address interface and port to listen on; port 0 takes a free one, see {@link #port()}
     * @param contents the initial keys and values; copied
     * @return the running server
     * @throws StoreException if the address cannot be bound
     * @throws org.jccl.UsageException if the address, the map, a key or a value is null, or a key
     *     or a value is too long
     */
    public static TcpStoreServer bind(InetSocketAddress address, Map<String, byte[]> contents) {
        requireContents(contents);
        return start(listen(address), null, null, HANDSHAKE_TIMEOUT, contents);
    }

    /**
     * Starts a server for {@link TcpStore} clients with TLS, with initial keys that exist before
     * the first client connects.
     *
     * @param address interface and port to listen on; port 0 takes a free one, see {@link #port()}
     * @param contents the initial keys and values; copied
     * @param credentials the certificate of the server, and the authorities for the clients'
     *     certificates
     * @return the running server
     * @throws StoreException if the address cannot be bound
     * @throws org.jccl.UsageException if an argument, a key or a value is null, or a key or a value
     *     is too long
     */
    public static TcpStoreServer bind(
            InetSocketAddress address, Map<String, byte[]> contents, TlsCredentials credentials) {
        requireContents(contents);
        TlsContext tls = new TlsContext(StoreArguments.credentials(credentials));
        return start(listen(address), null, tls, HANDSHAKE_TIMEOUT, contents);
    }

    private static void requireContents(Map<String, byte[]> contents) {
        if (contents == null) {
            throw StoreArguments.usage(
                    "The initial contents of the store are null; pass an empty map for none");
        }
        contents.forEach(StoreArguments::value);
    }

    /**
     * Starts a server for {@link TcpStore} clients that know a secret.
     *
     * @param address interface and port to listen on; port 0 takes a free one, see {@link #port()}
     * @param secret at least one byte, preferably 16 random bytes; copied
     * @return the running server
     * @throws StoreException if the address cannot be bound
     * @throws org.jccl.UsageException if the address is null or the secret null or empty
     */
    public static TcpStoreServer bind(InetSocketAddress address, byte[] secret) {
        SharedSecret shared = new SharedSecret(secret);
        return start(listen(address), shared, HANDSHAKE_TIMEOUT);
    }

    /**
     * Starts a server on a channel that is already listening, so that the caller can choose and
     * publish a port before the server exists.
     *
     * @param listener a bound channel; the server takes ownership
     * @return the running server
     * @throws StoreException if the channel cannot be used
     * @throws org.jccl.UsageException if the channel is null or not bound
     */
    public static TcpStoreServer adopt(ServerSocketChannel listener) {
        return start(requireBound(listener), null, HANDSHAKE_TIMEOUT);
    }

    static TcpStoreServer start(
            ServerSocketChannel listener, SharedSecret secret, Duration handshakeTimeout) {
        return start(listener, secret, null, handshakeTimeout, Map.of());
    }

    private static TcpStoreServer start(
            ServerSocketChannel listener,
            SharedSecret secret,
            TlsContext tls,
            Duration handshakeTimeout,
            Map<String, byte[]> contents) {
        try {
            TcpStoreServer server =
                    new TcpStoreServer(listener, secret, tls, handshakeTimeout, contents);
            server.thread.start();
            return server;
        } catch (IOException e) {
            ServerLoop.closeQuietly(listener);
            throw new StoreException(
                    "Cannot serve a store on %s: %s. Check the process's limit of open files"
                            .formatted(listener, e.getMessage()),
                    e);
        } catch (RuntimeException | Error e) {
            ServerLoop.closeQuietly(listener); // for instance if no thread can be started
            throw e;
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
                    "Cannot serve a store on %s:%d: %s. Choose a free port and an address of this host"
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
     * Returns the port on which the server listens.
     *
     * @return the port; the actual one if the server was bound to port 0
     */
    public int port() {
        return address.getPort();
    }

    /**
     * Returns the address on which the server listens.
     *
     * @return the interface and port
     */
    public InetSocketAddress address() {
        return address;
    }

    /**
     * Returns the number of requests of all clients, including handshakes. The limit of a server is
     * a little above ten thousand requests per second.
     *
     * @return the number of requests since the server started
     */
    public long requests() {
        return loop.requests();
    }

    /**
     * Waits until no client is connected, so that closing the server affects no client. An
     * interrupt ends the wait and leaves the interrupt flag set.
     *
     * @param timeout the maximum time to wait
     * @return whether all clients have disconnected
     * @throws org.jccl.UsageException if the duration is null or negative
     */
    public boolean awaitNoClients(Duration timeout) {
        return loop.awaitNoClients(Deadline.after(StoreArguments.timeout(timeout)));
    }

    /**
     * Stops the server, closes all connections and discards the stored values. Clients get a {@link
     * StoreException}. Returns when the server's thread has ended. Idempotent.
     */
    @Override
    public void close() {
        loop.stop();
        Deadline.none()
                .await(
                        nanos -> {
                            TimeUnit.NANOSECONDS.timedJoin(thread, nanos);
                            return thread;
                        });
    }

    @Override
    public String toString() {
        return "TcpStoreServer(" + address.getHostString() + ":" + address.getPort() + ")";
    }
}

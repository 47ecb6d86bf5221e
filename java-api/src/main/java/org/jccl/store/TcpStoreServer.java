package org.jccl.store;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jccl.StoreException;
import org.jccl.store.ServerConnection.Stage;

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

    private static final System.Logger LOG = System.getLogger(TcpStoreServer.class.getName());

    private static final int PENDING_CONNECTIONS = 4096;
    private static final int READ_BYTES = 64 << 10;
    private static final Duration HANDSHAKE_TIMEOUT = Duration.ofSeconds(30);

    /** How long to accept nobody after the process ran out of file descriptors. */
    private static final Duration ACCEPT_PAUSE = Duration.ofMillis(100);

    /** A connection that has not got through its handshake. */
    private record Newcomer(ServerConnection connection, Deadline deadline) {}

    private final ServerSocketChannel listener;
    private final Selector selector;
    private final InetSocketAddress address;
    private final Duration handshakeTimeout;
    private final RequestHandler handler;
    private final Thread thread;
    private final Deque<Newcomer> newcomers = new ArrayDeque<>();
    private final Consumer<SelectionKey> ready = this::ready;
    private final ByteBuffer received = ByteBuffer.allocateDirect(READ_BYTES);
    private Deadline acceptAgain;
    private volatile boolean closed;

    /** Written by the server's thread only. */
    private volatile long requests;

    /** Connections that are open; counted by the server's thread, under the monitor. */
    private int connected;

    private TcpStoreServer(
            ServerSocketChannel listener,
            SharedSecret secret,
            Duration handshakeTimeout,
            Map<String, byte[]> contents)
            throws IOException {
        this.listener = listener;
        this.handshakeTimeout = handshakeTimeout;
        this.address = (InetSocketAddress) listener.getLocalAddress();
        this.handler = new RequestHandler(secret, this::drop);
        contents.forEach((key, value) -> handler.put(TcpStore.USER_KEYS + key, value));
        this.selector = Selector.open();
        listener.configureBlocking(false);
        listener.register(selector, SelectionKey.OP_ACCEPT);
        this.thread = new Thread(this::run, "jccl-store-" + address.getPort());
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
            closeQuietly(listener);
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
            closeQuietly(listener);
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
        return requests;
    }

    /**
     * Waits until no client is connected, so that closing the server disturbs nobody. Interrupting
     * the thread ends the wait, and leaves the flag set.
     *
     * @param patience how long at most
     * @return whether all clients have gone
     * @throws org.jccl.UsageException when the duration is null or negative
     */
    public synchronized boolean awaitNoClients(Duration patience) {
        Deadline deadline = Deadline.after(StoreArguments.timeout(patience));
        try {
            while (connected > 0 && !deadline.hasPassed()) {
                TimeUnit.NANOSECONDS.timedWait(this, deadline.nanosLeft());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return connected == 0;
    }

    private synchronized void count(int change) {
        connected += change;
        notifyAll();
    }

    /**
     * Stops the server and closes all connections; what was stored is gone. Clients get a {@link
     * StoreException}. Returns when the thread has ended. Closing twice is harmless.
     */
    @Override
    public void close() {
        closed = true;
        selector.wakeup();
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

    private void run() {
        try {
            while (!closed) {
                turn();
            }
        } catch (IOException | ClosedSelectorException e) {
            LOG.log(System.Logger.Level.ERROR, this + " ends after a failure", e);
        } finally {
            selector.keys().forEach(key -> closeQuietly(key.channel()));
            closeQuietly(selector);
            count(-connected);
        }
    }

    /** All ranks depend on this thread, so nothing but the selector's own failure ends it. */
    private void turn() throws IOException {
        try {
            selector.select(ready, pauseMillis());
            dropLateNewcomers();
            resumeAccepting();
        } catch (ClosedSelectorException e) {
            throw e;
        } catch (RuntimeException | Error e) {
            LockSupport.parkNanos(ACCEPT_PAUSE.toNanos()); // it may happen again at once
            tell(System.Logger.Level.ERROR, "goes on after a failure", e);
        }
    }

    /** Logging takes memory and opens files, either of which may be what is missing. */
    private void tell(System.Logger.Level level, String what, Throwable why) {
        try {
            LOG.log(level, this + " " + what, why);
        } catch (Error e) {
            return; // nothing left to tell it with
        }
    }

    /** How long to wait for something to happen; 0 is for ever. */
    private long pauseMillis() {
        return newcomers.isEmpty() && acceptAgain == null ? 0 : ACCEPT_PAUSE.toMillis();
    }

    private void resumeAccepting() {
        if (acceptAgain != null && acceptAgain.hasPassed()) {
            acceptAgain = null;
            listener.keyFor(selector).interestOps(SelectionKey.OP_ACCEPT);
        }
    }

    private void ready(SelectionKey key) {
        if (key.channel() == listener) {
            accept(key);
            return;
        }
        ServerConnection client = (ServerConnection) key.attachment();
        try {
            if (key.isValid() && key.isWritable()) {
                client.flush();
            }
            if (key.isValid() && key.isReadable()) {
                read(client);
            }
        } catch (IOException e) {
            drop(client, e);
        } catch (RuntimeException | Error e) {
            drop(client, null);
            tell(System.Logger.Level.WARNING, "could not serve a request", e);
        }
    }

    private void read(ServerConnection client) throws IOException {
        received.clear();
        if (client.channel.read(received) < 0) {
            throw new IOException("closed by the client");
        }
        received.flip();
        client.cork();
        long taken = requests;
        while (client.channel.isOpen()) {
            Request request = client.decoder.next(received, client.stage == Stage.SERVED);
            if (request == null) {
                break;
            }
            taken++;
            handler.handle(client, request);
        }
        requests = taken;
        if (client.channel.isOpen()) {
            client.uncork();
        }
    }

    private void accept(SelectionKey key) {
        try {
            for (SocketChannel channel = listener.accept();
                    channel != null;
                    channel = listener.accept()) {
                welcome(channel);
            }
        } catch (IOException e) {
            tell(System.Logger.Level.WARNING, "can not accept a client for now", e);
            key.interestOps(0);
            acceptAgain = Deadline.after(ACCEPT_PAUSE);
        }
    }

    private void welcome(SocketChannel channel) {
        try {
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            SelectionKey key = channel.register(selector, SelectionKey.OP_READ);
            ServerConnection client = new ServerConnection(channel, key);
            key.attach(client);
            newcomers.add(new Newcomer(client, Deadline.after(handshakeTimeout)));
            count(1);
        } catch (IOException e) {
            closeQuietly(channel);
            LOG.log(System.Logger.Level.DEBUG, this + " lost a client that just connected", e);
        } catch (RuntimeException | Error e) {
            closeQuietly(channel);
            throw e;
        }
    }

    private void dropLateNewcomers() {
        while (!newcomers.isEmpty()) {
            Newcomer oldest = newcomers.peek();
            ServerConnection client = oldest.connection();
            boolean pending = client.channel.isOpen() && client.stage != Stage.SERVED;
            if (pending && !oldest.deadline().hasPassed()) {
                return;
            }
            if (pending) {
                drop(client, new IOException("no complete handshake in time"));
            }
            newcomers.remove();
        }
    }

    private void drop(ServerConnection client, IOException why) {
        if (why != null) {
            LOG.log(
                    System.Logger.Level.DEBUG,
                    () -> "%s closes the connection of %s: %s".formatted(this, client, why));
        }
        client.forget();
        handler.disconnected(client);
        if (client.channel.isOpen()) {
            closeQuietly(client.channel);
            count(-1);
        }
    }

    private static void closeQuietly(Closeable resource) {
        if (resource != null) {
            try {
                resource.close();
            } catch (IOException e) {
                LOG.log(System.Logger.Level.DEBUG, "Closing " + resource + " failed", e);
            }
        }
    }
}

package org.jccl.store;

import java.io.Closeable;
import java.io.IOException;
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
import java.util.function.Consumer;
import javax.net.ssl.SSLException;
import org.jccl.spi.Deadline;
import org.jccl.spi.Polling;
import org.jccl.store.ServerConnection.Stage;

/** The event loop of a server: one thread that accepts clients and serves their requests. */
final class ServerLoop implements Runnable {

    private static final System.Logger LOGGER = System.getLogger(TcpStoreServer.class.getName());

    private static final int READ_BYTES = 64 << 10;

    /** Pause of accepting after the process ran out of file descriptors. */
    private static final Duration ACCEPT_PAUSE = Duration.ofMillis(100);

    /** A connection that has not completed its handshake. */
    private record Newcomer(ServerConnection connection, Deadline deadline) {}

    private final TcpStoreServer server;
    private final ServerSocketChannel listener;
    private final Selector selector;
    private final RequestHandler handler;
    private final TlsContext tls;
    private final Duration handshakeTimeout;
    private final Deque<Newcomer> newcomers = new ArrayDeque<>();
    private final Consumer<SelectionKey> ready = this::ready;
    private final ByteBuffer received = ByteBuffer.allocateDirect(READ_BYTES);
    private Deadline acceptAgain;
    private volatile boolean stopped;

    /** Written by the loop's thread only. */
    private volatile long requests;

    /** Number of open connections; written by the loop's thread, under the monitor. */
    private int connected;

    ServerLoop(
            TcpStoreServer server,
            ServerSocketChannel listener,
            SharedSecret secret,
            TlsContext tls,
            Map<String, byte[]> contents,
            Duration handshakeTimeout)
            throws IOException {
        this.server = server;
        this.listener = listener;
        this.tls = tls;
        this.handler = new RequestHandler(secret, this::drop);
        contents.forEach((key, value) -> handler.put(TcpStore.USER_KEYS + key, value));
        this.handshakeTimeout = handshakeTimeout;
        this.selector = Selector.open();
        listener.configureBlocking(false);
        listener.register(selector, SelectionKey.OP_ACCEPT);
    }

    /** Returns the number of requests so far, including handshakes. */
    long requests() {
        return requests;
    }

    synchronized boolean awaitNoClients(Deadline deadline) {
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

    /** Ends the loop, which then closes all connections and the listener. */
    void stop() {
        stopped = true;
        selector.wakeup();
    }

    @Override
    public void run() {
        try {
            while (!stopped) {
                serveOnce();
            }
        } catch (IOException | ClosedSelectorException e) {
            LOGGER.log(System.Logger.Level.ERROR, server + " ends after a failure", e);
        } finally {
            selector.keys().forEach(key -> closeQuietly(key.channel()));
            closeQuietly(selector);
            count(-connected);
        }
    }

    /** All ranks depend on this thread, so only a failure of the selector ends it. */
    private void serveOnce() throws IOException {
        try {
            selector.select(ready, pauseMillis());
            dropLateNewcomers();
            resumeAccepting();
        } catch (ClosedSelectorException e) {
            throw e;
        } catch (RuntimeException | Error e) {
            Polling.sleep(ACCEPT_PAUSE); // it may happen again immediately
            log(System.Logger.Level.ERROR, "continues after a failure", e);
        }
    }

    /** Logs a failure. Logging itself may fail if memory or file descriptors are exhausted. */
    private void log(System.Logger.Level level, String what, Throwable why) {
        try {
            LOGGER.log(level, server + " " + what, why);
        } catch (Error e) {
            return; // the failure cannot be logged
        }
    }

    /** Returns the timeout of the next select; 0 means no timeout. */
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
            if (!client.isConnected()) {
                return;
            }
            if (key.isValid() && key.isWritable()) {
                client.flush();
            }
            if (key.isValid() && key.isReadable()) {
                read(client);
            }
        } catch (SSLException e) {
            LOGGER.log(
                    System.Logger.Level.INFO,
                    "{0} rejects {1}: the TLS handshake failed: {2}",
                    server,
                    client,
                    e.getMessage());
            drop(client, e);
        } catch (BadRequestException e) {
            if (client.stage == Stage.SERVED) {
                // Its program sees only the end of the connection. Others may be port scanners.
                log(
                        System.Logger.Level.WARNING,
                        "closes the connection of %s, because it rejects a request: %s"
                                .formatted(client, e.getMessage()),
                        null);
            }
            drop(client, e);
        } catch (IOException e) {
            drop(client, e);
        } catch (RuntimeException | Error e) {
            drop(client, null);
            log(System.Logger.Level.WARNING, "could not serve a request", e);
        }
    }

    private void read(ServerConnection client) throws IOException {
        received.clear();
        if (client.wire.read(received) < 0) {
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
            log(System.Logger.Level.WARNING, "cannot accept clients for now", e);
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
            ServerConnection client = new ServerConnection(channel, key, tls);
            key.attach(client);
            newcomers.add(new Newcomer(client, Deadline.after(handshakeTimeout)));
            count(1);
        } catch (IOException e) {
            closeQuietly(channel);
            LOGGER.log(System.Logger.Level.DEBUG, server + " lost a client that just connected", e);
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
            LOGGER.log(
                    System.Logger.Level.DEBUG,
                    () -> "%s closes the connection of %s: %s".formatted(server, client, why));
        }
        client.forget();
        handler.disconnected(client);
        if (client.channel.isOpen()) {
            closeQuietly(client.channel);
            count(-1);
        }
    }

    static void closeQuietly(Closeable resource) {
        if (resource != null) {
            try {
                resource.close();
            } catch (IOException e) {
                LOGGER.log(System.Logger.Level.DEBUG, "Closing " + resource + " failed", e);
            }
        }
    }
}

package org.jccl.store;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.jccl.NativeException;
import org.jccl.StoreException;
import org.jccl.spi.Deadline;
import org.jccl.spi.Descriptors;
import org.jccl.spi.Durations;

/**
 * The address of a server, and how to connect to it.
 *
 * @param host the name or address
 * @param port the TCP port
 * @param secret the shared secret, or null
 * @param tls the certificates for TLS, or null
 */
record ServerAddress(String host, int port, SharedSecret secret, TlsContext tls) {

    /** Takes an IPv6 address with or without brackets. */
    ServerAddress {
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
    }

    /** File descriptors of one connection: a socket and two of its selector. */
    private static final int DESCRIPTORS = 3;

    private static final Duration FIRST_PAUSE = Duration.ofMillis(50);
    private static final Duration MAX_PAUSE = Duration.ofSeconds(10);

    /** After this many closed connections, the server is not ending but rejects this client. */
    private static final int MAX_CLOSED = 4;

    /**
     * Connects, and retries with growing pauses until the deadline, because the rank that serves
     * the store may start later. The name is resolved again each time, because it may become known
     * later.
     */
    ClientConnection connectWithRetry(Duration timeout) {
        Deadline deadline = Deadline.after(timeout);
        Duration pause = FIRST_PAUSE;
        int closedOnUs = 0;
        IOException reason = null;
        while (true) {
            try {
                return connect(deadline);
            } catch (ClientConnection.HandshakeException e) {
                // The server of an earlier world may be closing, and a new one may replace it.
                if (!e.closed() || ++closedOnUs == MAX_CLOSED || deadline.hasPassed()) {
                    throw failure(timeout, e);
                }
                deadline.pause(FIRST_PAUSE);
            } catch (IOException e) {
                // The last attempt may time out; the failure of an earlier one says more.
                boolean isWorse = reason != null && e instanceof SocketTimeoutException;
                reason = isWorse ? reason : e;
                int percent = ThreadLocalRandom.current().nextInt(50, 151);
                deadline.pause(pause.multipliedBy(percent).dividedBy(100));
                if (deadline.hasPassed()) {
                    throw failure(timeout, reason);
                }
            }
            Duration next = pause.multipliedBy(3).dividedBy(2);
            pause = next.compareTo(MAX_PAUSE) > 0 ? MAX_PAUSE : next;
        }
    }

    /**
     * Tries each address of the host once.
     *
     * @throws StoreException if this process cannot open any connection
     */
    ClientConnection connect(Deadline deadline) throws IOException {
        try {
            return connectToAny(deadline);
        } catch (IOException e) {
            requireDescriptors(e);
            throw e;
        }
    }

    /**
     * Without free descriptors, every lookup and every connection fails with a misleading message.
     */
    private void requireDescriptors(IOException failure) {
        try {
            Descriptors.require(DESCRIPTORS, "a connection to the store at " + this);
        } catch (NativeException e) {
            e.addSuppressed(failure);
            throw new StoreException(e.reason(), e);
        }
    }

    private ClientConnection connectToAny(Deadline deadline) throws IOException {
        IOException failure = null;
        for (InetAddress address : InetAddress.getAllByName(host)) {
            try {
                return ClientConnection.open(
                        new InetSocketAddress(address, port), secret, tls, deadline);
            } catch (IOException e) {
                if (failure != null) {
                    e.addSuppressed(failure);
                }
                failure = e;
            }
        }
        throw failure;
    }

    private StoreException failure(Duration timeout, IOException cause) {
        String why =
                cause instanceof UnknownHostException ? "unknown host " + host : cause.getMessage();
        return new StoreException(
                "Cannot connect to the store at %s within %s: %s. Check that the rank or launcher that serves the store is running, that host and port are correct, and that no firewall blocks the connection"
                        .formatted(this, Durations.text(timeout), why),
                cause);
    }

    @Override
    public String toString() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}

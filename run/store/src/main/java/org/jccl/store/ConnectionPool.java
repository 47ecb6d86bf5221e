package org.jccl.store;

import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import org.jccl.spi.Deadline;

/**
 * The connections of one client. Non-blocking requests share the current connection, one after the
 * other, so the server sees them in the order of the calls. A blocking request occupies the current
 * connection until its answer arrives. A request that arrives meanwhile uses an idle connection or
 * opens another one. A client whose blocking requests never overlap with others has one connection.
 */
final class ConnectionPool implements AutoCloseable {

    /** An exchange of messages over a connection. */
    interface Exchange<T> {
        T run(ClientConnection connection) throws IOException;
    }

    private final ServerAddress address;

    /** Held during a whole request; guards {@link #current} and {@link #idle}. */
    private final Object requests = new Object();

    private final Deque<ClientConnection> idle = new ArrayDeque<>();
    private ClientConnection current;

    /** All open connections, so that {@link #close} finds those in use. Guards {@link #closed}. */
    private final Set<ClientConnection> open = new HashSet<>();

    private boolean closed;

    ConnectionPool(ServerAddress address, ClientConnection first) {
        this.address = address;
        this.current = first;
        open.add(first);
    }

    /** Makes a request that the server answers immediately, or not at all. */
    <T> T request(Deadline deadline, Exchange<T> exchange) throws IOException {
        synchronized (requests) {
            return run(takeCurrent(deadline), exchange);
        }
    }

    /**
     * Makes a blocking request.
     *
     * @param start sends the request; when it returns, the server has processed all earlier ones
     * @param rest receives the answer
     */
    <T> T await(Deadline deadline, Exchange<Void> start, Exchange<T> rest) throws IOException {
        ClientConnection connection;
        synchronized (requests) {
            connection = takeCurrent(deadline);
            run(connection, start);
            current = null;
        }
        T result = run(connection, rest);
        synchronized (requests) {
            if (current == null) {
                current = connection;
            } else {
                idle.push(connection);
            }
        }
        return result;
    }

    boolean isClosed() {
        synchronized (open) {
            return closed;
        }
    }

    private ClientConnection takeCurrent(Deadline deadline) throws IOException {
        if (current == null) {
            current = idle.poll();
        }
        if (current == null) {
            ClientConnection fresh = address.connect(deadline);
            synchronized (open) {
                if (closed) {
                    fresh.close();
                    throw new ClosedChannelException();
                }
                open.add(fresh);
            }
            current = fresh;
        }
        ClientConnection connection = current;
        run(
                connection,
                silent -> {
                    silent.requireNothingUnread();
                    return null;
                });
        return connection;
    }

    /**
     * Runs an exchange. After a failure the position in the protocol is unknown, so the connection
     * is closed.
     */
    private <T> T run(ClientConnection connection, Exchange<T> exchange) throws IOException {
        boolean done = false;
        try {
            T result = exchange.run(connection);
            done = true;
            return result;
        } finally {
            if (!done) {
                discard(connection);
            }
        }
    }

    private void discard(ClientConnection connection) throws IOException {
        synchronized (requests) {
            if (current == connection) {
                current = null;
            }
        }
        synchronized (open) {
            open.remove(connection);
        }
        connection.close();
    }

    @Override
    public void close() throws IOException {
        synchronized (open) {
            closed = true;
            for (ClientConnection connection : open) {
                connection.close();
            }
            open.clear();
        }
    }
}

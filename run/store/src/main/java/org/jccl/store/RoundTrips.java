package org.jccl.store;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;

/**
 * The requests of one client and their answers, each with a deadline. Failures of the connection or
 * the server become a {@link StoreException} that names the failed call.
 */
final class RoundTrips implements AutoCloseable {

    /** Grace period for the server to start or cancel a wait whose deadline has passed. */
    private static final Duration CANCEL_GRACE = Duration.ofSeconds(1);

    private final TcpStore store;
    private final ServerAddress address;
    private final Duration answerTime;
    private final Connections connections;

    /**
     * Uses a connection, and others to the same address.
     *
     * @param answerTime how long the server may take to answer
     */
    RoundTrips(TcpStore store, ServerAddress address, ClientConnection first, Duration answerTime) {
        this.store = store;
        this.address = address;
        this.answerTime = answerTime;
        this.connections = new Connections(address, first);
    }

    void requireOpen() {
        if (connections.isClosed()) {
            throw StoreArguments.closed(store);
        }
    }

    @Override
    public void close() {
        try {
            connections.close();
        } catch (IOException e) {
            throw new StoreException("Closing the connection to " + store + " failed", e);
        }
    }

    /** Reads the answer to a request. */
    interface Answer<T> {
        T read(ClientConnection connection, Deadline deadline) throws IOException;
    }

    /** An exchange of bytes with the server. */
    private interface Transfer<T> {
        T run() throws IOException;
    }

    /** Sends a request that the server does not answer. */
    void post(String operation, WireBuffer request) {
        call(operation, request, (connection, deadline) -> null);
    }

    /** Sends a request that the server answers immediately. */
    <T> T call(String operation, WireBuffer request, Answer<T> answer) {
        Deadline deadline = Deadline.after(answerTime);
        return transfer(
                operation,
                () ->
                        connections.request(
                                deadline,
                                connection -> {
                                    connection.send(request, deadline);
                                    return answer.read(connection, deadline);
                                }));
    }

    /** Sends WAIT or BARRIER; returns whether the server released it before the deadline. */
    boolean released(String operation, WireBuffer request, Deadline deadline) {
        return transfer(
                operation,
                () ->
                        connections.await(
                                waitDeadline(deadline),
                                connection ->
                                        startWait(connection, request, waitDeadline(deadline)),
                                connection -> endWait(connection, deadline)));
    }

    /**
     * Starts a wait. The server must have processed the earlier requests of this connection before
     * other threads use another one; otherwise it could serve them in the wrong order. A PING
     * before the wait ensures that.
     */
    private Void startWait(ClientConnection connection, WireBuffer request, Deadline deadline)
            throws IOException {
        boolean ping = connection.hasUnanswered();
        if (ping) {
            connection.send(WireBuffer.request(Opcode.PING).putInt(0), deadline);
        }
        connection.send(request, deadline);
        if (ping) {
            connection.readInt(deadline);
        }
        return null;
    }

    private static Deadline waitDeadline(Deadline end) {
        Duration left = end.left();
        return Deadline.after(left.compareTo(CANCEL_GRACE) > 0 ? left : CANCEL_GRACE);
    }

    /** Ends a wait. After a cancel, a late release may still precede the answer to the cancel. */
    private boolean endWait(ClientConnection connection, Deadline deadline) throws IOException {
        try {
            requireAnswer(Opcode.STOP_WAITING, connection.readByte(deadline));
            return true;
        } catch (SocketTimeoutException e) {
            Deadline cancelled = Deadline.after(CANCEL_GRACE);
            connection.send(WireBuffer.request(Opcode.CANCEL_WAIT), cancelled);
            boolean released = connection.readByte(cancelled) == Opcode.STOP_WAITING;
            if (released) {
                requireAnswer(Opcode.WAIT_CANCELED, connection.readByte(cancelled));
            }
            return released;
        }
    }

    static long readCount(ClientConnection connection, Deadline deadline) throws IOException {
        return readCount(connection, Long.MAX_VALUE, deadline);
    }

    static long readCount(ClientConnection connection, long most, Deadline deadline)
            throws IOException {
        long count = connection.readLong(deadline);
        if (count < 0 || count > most) {
            throw new IOException("the server answered that there are %d".formatted(count));
        }
        return count;
    }

    static void requireAnswer(byte expected, byte answer) throws IOException {
        if (answer != expected) {
            throw new IOException(
                    "the server answered %d instead of %d".formatted(answer, expected));
        }
    }

    private <T> T transfer(String operation, Transfer<T> transfer) {
        requireOpen();
        try {
            return transfer.run();
        } catch (IOException e) {
            requireOpen();
            throw failure(operation, e);
        }
    }

    private StoreException failure(String operation, IOException cause) {
        if (cause instanceof SocketTimeoutException) {
            return new StoreTimeoutException(
                    "%s on the store at %s: the server did not answer. Check that its process is not stopped and that the network works"
                            .formatted(operation, address),
                    cause);
        }
        return new StoreException(
                "%s on the store at %s failed: %s. The process that serves the store ended, or it refused this or an earlier request; look at its log, keep it running until all ranks are done, and connect again"
                        .formatted(operation, address, cause.getMessage()),
                cause);
    }
}

package org.jccl.store;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.TlsCredentials;
import org.jccl.UsageException;
import org.jccl.spi.Deadline;
import org.jccl.spi.Durations;

/**
 * A client of a {@link TcpStoreServer} or of PyTorch's TCPStore (the default libuv server, as of
 * PyTorch 2.13).
 *
 * <p>Thread-safe. Calls of several threads share one connection, one after the other. A blocking
 * call does not delay other calls: they use a second connection, which is opened on demand.
 *
 * <p>{@link #set}, {@link #append}, {@link #multiSet} and {@link #queuePush} return when the
 * request is sent, because the protocol has no answer to them. If the server rejects one, a later
 * call throws. All requests of one object reach the server in the order of the calls.
 *
 * <p>A non-blocking request throws {@link StoreTimeoutException} if the server does not answer
 * within {@link #timeout()} or 10 seconds, whichever is longer. After the server has ended, every
 * call throws {@link StoreException} immediately. An interrupt does not end a call. If another
 * thread closes the store, the call throws {@link org.jccl.UsageException}.
 */
public final class TcpStore implements Store {

    static final String USER_KEYS = "/";
    private static final byte[] WORKERS = "init/".getBytes(StandardCharsets.US_ASCII);
    private static final Duration POLL = Duration.ofMillis(10);

    private static final Duration MIN_ANSWER_TIME = Duration.ofSeconds(10);

    /** Grace period for the server to start or cancel a wait whose deadline has passed. */
    private static final Duration CANCEL_GRACE = Duration.ofSeconds(1);

    private static final int MAX_PORT = 65_535;

    /** Limit for requests that are sent together, and for their answers. */
    private static final int BYTES_AT_ONCE = 32 << 10;

    private final ServerAddress address;
    private final Duration timeout;

    /** The time limit for an answer of the server. */
    private final Duration answerTime;

    private final ConnectionPool connections;

    private TcpStore(ServerAddress address, Duration timeout) {
        this.address = address;
        this.timeout = StoreArguments.timeout(timeout);
        this.answerTime = longer(timeout, MIN_ANSWER_TIME);
        this.connections = new ConnectionPool(address, address.connectWithRetry(timeout));
    }

    private TcpStore(ServerAddress address, ClientConnection first, Duration answerTime) {
        this.address = address;
        this.timeout = answerTime;
        this.answerTime = answerTime;
        this.connections = new ConnectionPool(address, first);
    }

    private static Duration longer(Duration one, Duration other) {
        return one.compareTo(other) > 0 ? one : other;
    }

    /**
     * Connects to a running server, without a retry.
     *
     * @param answerTime the time limit for blocking calls and for each answer, even if it is short
     * @throws StoreException if that fails
     */
    static TcpStore connectOnce(ServerAddress address, Duration timeout, Duration answerTime) {
        try {
            return new TcpStore(address, address.connect(Deadline.after(timeout)), answerTime);
        } catch (IOException e) {
            throw new StoreException(
                    "cannot connect to the store at %s: %s".formatted(address, e.getMessage()), e);
        }
    }

    /**
     * Connects to a server without a secret. Retries with growing pauses until the timeout, because
     * the server may start or become resolvable later. A name lookup in progress is not
     * interrupted.
     *
     * @param host the name or address of the server
     * @param port its port, 1 to 65535
     * @param timeout the time limit for connecting and for later blocking calls
     * @return the connected store
     * @throws StoreException if no connection is made in time, or the peer is not a TCPStore server
     *     without a secret
     * @throws org.jccl.UsageException if an argument is null or out of range
     */
    public static TcpStore connect(String host, int port, Duration timeout) {
        return new TcpStore(address(host, port, null, null), timeout);
    }

    /**
     * Connects to a {@link TcpStoreServer} that has a secret.
     *
     * @param host the name or address of the server
     * @param port its port, 1 to 65535
     * @param timeout the time limit for connecting and for later blocking calls
     * @param secret the server's secret; copied
     * @return the connected store
     * @throws StoreException if no connection is made in time, or the server has another secret or
     *     none
     * @throws org.jccl.UsageException if an argument is null, empty or out of range
     */
    public static TcpStore connect(String host, int port, Duration timeout, byte[] secret) {
        return new TcpStore(address(host, port, new SharedSecret(secret), null), timeout);
    }

    /**
     * Connects to a {@link TcpStoreServer} that uses TLS.
     *
     * @param host the name or address of the server
     * @param port its port, 1 to 65535
     * @param timeout the time limit for connecting and for later blocking calls
     * @param credentials the certificate of this process, and the authorities for the server's
     *     certificate
     * @return the connected store
     * @throws StoreException if no connection is made in time, the server does not use TLS, or one
     *     of the two rejects the certificate of the other
     * @throws org.jccl.UsageException if an argument is null or out of range
     */
    public static TcpStore connect(
            String host, int port, Duration timeout, TlsCredentials credentials) {
        TlsContext tls = new TlsContext(StoreArguments.credentials(credentials));
        return new TcpStore(address(host, port, null, tls), timeout);
    }

    static ServerAddress address(String host, int port, SharedSecret secret, TlsContext tls) {
        if (host == null || host.isEmpty() || port < 1 || port > MAX_PORT) {
            throw StoreArguments.usage(
                    "The store's address is '%s', port %d; pass a host and a port from 1 to %d"
                            .formatted(host, port, MAX_PORT));
        }
        return new ServerAddress(host, port, secret, tls);
    }

    /**
     * Returns the server's host.
     *
     * @return the name or address that was passed to {@code connect}
     */
    public String host() {
        return address.host();
    }

    /**
     * Returns the server's port.
     *
     * @return the port
     */
    public int port() {
        return address.port();
    }

    @Override
    public Optional<String> serverHost() {
        return Optional.of(host());
    }

    /**
     * Returns whether the connections to the server use TLS.
     *
     * @return whether the store was connected with credentials
     */
    @Override
    public boolean isEncrypted() {
        return address.tls() != null;
    }

    /**
     * Counts this process as one of the workers that {@link #awaitWorkers} waits for, as PyTorch's
     * clients do if they have a world size. Each process must call it at most once.
     *
     * @return the number of workers that have joined, including this one
     */
    public long joinWorkers() {
        return countWorkers(1);
    }

    /**
     * Waits until all workers have joined. The process that serves the store calls it, as PyTorch's
     * rank 0 does. It polls the store every 10 ms.
     *
     * @param worldSize the number of workers, at least 1
     * @param timeout the maximum time to wait
     * @throws StoreTimeoutException if a worker does not join in time; the message contains the
     *     number that joined
     */
    public void awaitWorkers(int worldSize, Duration timeout) {
        StoreArguments.worldSize(worldSize);
        Deadline deadline = Deadline.after(StoreArguments.timeout(timeout));
        for (long joined = countWorkers(0); joined < worldSize; joined = countWorkers(0)) {
            if (deadline.hasPassed()) {
                throw new StoreTimeoutException(
                        "Timed out after %s waiting for clients. %d/%d clients joined. Store: %s. Check that the other ranks were started and can reach it"
                                .formatted(Durations.text(timeout), joined, worldSize, address),
                        null);
            }
            deadline.pause(POLL);
        }
    }

    private long countWorkers(long delta) {
        return call(
                "joining the workers",
                WireBuffer.request(Opcode.ADD).putBytes(WORKERS).putLong(delta),
                ClientConnection::readLong);
    }

    @Override
    public void set(String key, byte[] value) {
        post("set", request(Opcode.SET, key).putBytes(StoreArguments.value(key, value)));
    }

    @Override
    public byte[] get(String key) {
        await(List.of(StoreArguments.key(key)));
        return call("get", request(Opcode.GET, key), ClientConnection::readBytes);
    }

    @Override
    public long add(String key, long delta) {
        WireBuffer request = request(Opcode.ADD, key).putLong(delta);
        try {
            return call("add", request, ClientConnection::readLong);
        } catch (StoreTimeoutException e) {
            throw e;
        } catch (StoreException e) {
            // The protocol has no answer for a value that is not a number, so the server closes the
            // connection.
            if (holdsText(key)) {
                UsageException mistake = StoreArguments.notANumber(this, key);
                mistake.addSuppressed(e);
                throw mistake;
            }
            throw e;
        }
    }

    private boolean holdsText(String key) {
        try {
            return check(List.of(key)) && !KeySpace.isNumber(get(key));
        } catch (StoreException unreachable) {
            return false;
        }
    }

    @Override
    public boolean check(List<String> keys) {
        return call(
                "check",
                request(Opcode.CHECK, keys),
                (connection, deadline) ->
                        connection.readAnswer(Opcode.READY, Opcode.NOT_READY, deadline));
    }

    @Override
    public boolean deleteKey(String key) {
        return call(
                "deleteKey",
                request(Opcode.DELETE_KEY, key),
                (connection, deadline) -> connection.readCount(1, deadline) == 1);
    }

    @Override
    public long keyCount() {
        return call("keyCount", WireBuffer.request(Opcode.GETNUMKEYS), ClientConnection::readCount);
    }

    @Override
    public byte[] compareSet(String key, byte[] expected, byte[] desired) {
        return call(
                "compareSet",
                request(Opcode.COMPARE_SET, key)
                        .putBytes(StoreArguments.value(key, expected))
                        .putBytes(StoreArguments.value(key, desired)),
                ClientConnection::readBytes);
    }

    @Override
    public List<byte[]> multiCompareSet(
            List<String> keys, List<byte[]> expected, List<byte[]> desired) {
        StoreArguments.pairs(keys, expected);
        StoreArguments.pairs(keys, desired);
        List<byte[]> values = new ArrayList<>(keys.size());
        while (values.size() < keys.size()) {
            values.addAll(compareSets(keys, expected, desired, values.size()));
        }
        return values;
    }

    /**
     * Sends as many requests as possible before it reads an answer. The answers must fit the socket
     * buffers, because the server stops reading while it cannot send.
     */
    private List<byte[]> compareSets(
            List<String> keys, List<byte[]> expected, List<byte[]> desired, int from) {
        WireBuffer requests = new WireBuffer();
        int to = from;
        for (long bytes = 0; to < keys.size() && bytes < BYTES_AT_ONCE; to++) {
            requests.putByte(Opcode.COMPARE_SET.number())
                    .putBytes(wireKey(keys.get(to)))
                    .putBytes(expected.get(to))
                    .putBytes(desired.get(to));
            bytes += Long.BYTES + Math.max(expected.get(to).length, desired.get(to).length);
        }
        int count = to - from;
        return call(
                "multiCompareSet",
                requests,
                (connection, deadline) -> {
                    List<byte[]> values = new ArrayList<>(count);
                    for (int i = 0; i < count; i++) {
                        values.add(connection.readBytes(deadline));
                    }
                    return values;
                });
    }

    @Override
    public void await(List<String> keys, Duration timeout) {
        WireBuffer request = request(Opcode.WAIT, keys);
        Deadline deadline = Deadline.after(StoreArguments.timeout(timeout));
        if (!released("await", request, deadline)) {
            throw MissingKeys.timeout(this, keys, timeout);
        }
    }

    @Override
    public void append(String key, byte[] value) {
        post("append", request(Opcode.APPEND, key).putBytes(StoreArguments.value(key, value)));
    }

    @Override
    public List<byte[]> multiGet(List<String> keys) {
        await(keys);
        return call(
                "multiGet",
                request(Opcode.MULTI_GET, keys),
                (connection, deadline) -> {
                    List<byte[]> values = new ArrayList<>(keys.size());
                    for (int i = 0; i < keys.size(); i++) {
                        values.add(connection.readBytes(deadline));
                    }
                    return values;
                });
    }

    @Override
    public void multiSet(List<String> keys, List<byte[]> values) {
        StoreArguments.pairs(keys, values);
        List<byte[]> parts = new ArrayList<>(2 * keys.size());
        for (int i = 0; i < keys.size(); i++) {
            parts.add(wireKey(keys.get(i)));
            parts.add(values.get(i));
        }
        WireBuffer request = listRequest(Opcode.MULTI_SET, keys.size(), parts);
        post("multiSet", request);
    }

    @Override
    public void queuePush(String key, byte[] value) {
        post(
                "queuePush",
                request(Opcode.QUEUE_PUSH, key).putBytes(StoreArguments.value(key, value)));
    }

    @Override
    public byte[] queuePop(String key) {
        StoreArguments.key(key);
        Deadline deadline = Deadline.after(timeout);
        while (released("queuePop", request(Opcode.WAIT, List.of(key)), deadline)) {
            Optional<byte[]> value = queuePoll(key);
            if (value.isPresent()) {
                return value.get();
            }
            // Another client was faster, or a plain key of this name ends each wait immediately.
            deadline.pause(POLL);
            if (deadline.hasPassed()) {
                break;
            }
        }
        throw MissingKeys.timeout(this, List.of(key), timeout);
    }

    @Override
    public Optional<byte[]> queuePoll(String key) {
        return call(
                "queuePoll",
                request(Opcode.QUEUE_POP, key),
                (connection, deadline) ->
                        connection.readCount(deadline) > 0
                                ? Optional.of(connection.readBytes(deadline))
                                : Optional.empty());
    }

    @Override
    public long queueLength(String key) {
        return call("queueLength", request(Opcode.QUEUE_LEN, key), ClientConnection::readCount);
    }

    /**
     * Returns all keys that clients have set, without queues and without the counter of workers.
     *
     * @return the keys, in no order
     */
    @Override
    public List<String> listKeys() {
        return call(
                "listKeys",
                WireBuffer.request(Opcode.LIST_KEYS),
                (connection, deadline) -> {
                    List<String> keys = new ArrayList<>();
                    for (long left = connection.readCount(deadline); left > 0; left--) {
                        byte[] utf8 = connection.readBytes(deadline);
                        String key = new String(utf8, StandardCharsets.UTF_8);
                        if (key.startsWith(USER_KEYS)) {
                            keys.add(key.substring(USER_KEYS.length()));
                        }
                    }
                    return keys;
                });
    }

    @Override
    public void barrier(String key, int worldSize, Duration timeout) {
        WireBuffer request =
                request(Opcode.BARRIER, key).putLong(StoreArguments.worldSize(worldSize));
        Deadline deadline = Deadline.after(StoreArguments.timeout(timeout));
        if (!released("barrier", request, deadline)) {
            throw CountingBarrier.timeout(this, key, add(key, 0), worldSize, timeout, null);
        }
    }

    @Override
    public Duration timeout() {
        return timeout;
    }

    @Override
    public TcpStore duplicate(Duration timeout) {
        requireOpen();
        return new TcpStore(address, timeout);
    }

    /**
     * Closes the connections. Pending calls of other threads throw {@link org.jccl.UsageException}.
     */
    @Override
    public void close() {
        try {
            connections.close();
        } catch (IOException e) {
            throw new StoreException("Closing the connection to " + this + " failed", e);
        }
    }

    @Override
    public String toString() {
        return "TcpStore(" + address + ")";
    }

    private static byte[] wireKey(String key) {
        return (USER_KEYS + StoreArguments.key(key)).getBytes(StandardCharsets.UTF_8);
    }

    private static WireBuffer request(Opcode opcode, String key) {
        return WireBuffer.request(opcode).putBytes(wireKey(key));
    }

    private WireBuffer request(Opcode opcode, List<String> keys) {
        List<byte[]> names = StoreArguments.keys(keys).stream().map(TcpStore::wireKey).toList();
        return listRequest(opcode, keys.size(), names);
    }

    private WireBuffer listRequest(Opcode opcode, int count, List<byte[]> parts) {
        long size = parts.stream().mapToLong(part -> part.length + (long) Long.BYTES).sum();
        if (size + Byte.BYTES + Long.BYTES > WireBuffer.MAX_BYTES) {
            throw StoreArguments.usage(
                    "%s of %d keys on %s: %d bytes, more than %d; make several calls"
                            .formatted(opcode, count, this, size, WireBuffer.MAX_BYTES));
        }
        WireBuffer request = WireBuffer.request(opcode).putLong(count);
        parts.forEach(request::putBytes);
        return request;
    }

    /** Reads the answer to a request. */
    private interface Answer<T> {
        T read(ClientConnection connection, Deadline deadline) throws IOException;
    }

    /** An exchange of bytes with the server. */
    private interface Transfer<T> {
        T run() throws IOException;
    }

    /** Sends a request that the server does not answer. */
    private void post(String operation, WireBuffer request) {
        call(operation, request, (connection, deadline) -> null);
    }

    /** Sends a request that the server answers immediately. */
    private <T> T call(String operation, WireBuffer request, Answer<T> answer) {
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
    private boolean released(String operation, WireBuffer request, Deadline deadline) {
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
    private static Void startWait(
            ClientConnection connection, WireBuffer request, Deadline deadline) throws IOException {
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
        return Deadline.after(longer(end.left(), CANCEL_GRACE));
    }

    /** Ends a wait. After a cancel, a late release may still precede the answer to the cancel. */
    private static boolean endWait(ClientConnection connection, Deadline deadline)
            throws IOException {
        try {
            connection.readAnswer(Opcode.STOP_WAITING, deadline);
            return true;
        } catch (SocketTimeoutException e) {
            Deadline cancelled = Deadline.after(CANCEL_GRACE);
            connection.send(WireBuffer.request(Opcode.CANCEL_WAIT), cancelled);
            boolean released =
                    connection.readAnswer(Opcode.STOP_WAITING, Opcode.WAIT_CANCELED, cancelled);
            if (released) {
                connection.readAnswer(Opcode.WAIT_CANCELED, cancelled);
            }
            return released;
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

    private void requireOpen() {
        if (connections.isClosed()) {
            throw StoreArguments.closed(this);
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

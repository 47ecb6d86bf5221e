package org.jccl.store;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.TlsCredentials;
import org.jccl.spi.Durations;

/**
 * A client of several {@link TcpStoreServer}s that hold the same keys, so that the store survives
 * the loss of fewer than half of them: of one server of three, or two of five. {@code jccl run
 * --replace} with several endpoints serves such a store. The servers do not know of each other; the
 * clients agree by Paxos, so a change takes nine requests where {@link TcpStore} needs one. Use it
 * for what must survive, not for bulk data.
 *
 * <p>A server has the key {@code jccl/server-id}. One that was lost and is started again has a new
 * id, and does not count any more, since it lacks what the lost one knew. So a lost server is not
 * replaced while the job runs. A server that was only cut off is used again.
 *
 * <p>All calls are as those of a {@code TcpStore}, with these differences:
 *
 * <ul>
 *   <li>There are no queues.
 *   <li>A value has at most 4 MiB.
 *   <li>A waiting call asks the servers every 5 to 50 ms.
 *   <li>If another client changes a key while {@link #deleteKey} runs, the key may come back.
 *   <li>A call throws {@link StoreException} if too few servers answer within {@link #timeout()}.
 *       Until then it connects to them again, since a network may come back. The call may have had
 *       an effect. Later calls may succeed again.
 * </ul>
 *
 * <p>Thread-safe. An interrupt does not end a call. If another thread closes the store, the call
 * throws {@link org.jccl.UsageException}.
 */
public final class ReplicatedStore implements Store {

    /** The largest value, in bytes. */
    static final int MAX_VALUE_BYTES = StoreArguments.MAX_VALUE_BYTES / 2;

    private static final int FEWEST = 3;
    private static final int LOOKS = 6;
    private static final Duration FIRST_PAUSE = Duration.ofMillis(1);
    private static final Duration FIRST_POLL = Duration.ofMillis(5);
    private static final Duration LONGEST_POLL = Duration.ofMillis(50);

    private final List<Replica> replicas;
    private final Paxos paxos;
    private final Duration timeout;
    private final Object additions = new Object();
    private long operations;
    private volatile boolean closed;

    private ReplicatedStore(List<Replica> replicas, Duration timeout) {
        this.replicas = replicas;
        this.timeout = StoreArguments.timeout(timeout);
        long proposer = ThreadLocalRandom.current().nextLong(1, Long.MAX_VALUE);
        this.paxos = new Paxos(replicas, proposer, FIRST_PAUSE, LOOKS);
    }

    /**
     * Connects to more than half of the servers.
     *
     * @param servers the servers of the store, at least three, in the same order for all clients
     * @param credentials the certificate of this process, if the servers use TLS
     * @param timeout the time limit for connecting and for later calls
     * @return the connected store
     * @throws StoreException if too few servers answer in time, or at once if one uses TLS and this
     *     process does not, or the other way round, or one of the two rejects the certificate of
     *     the other
     * @throws org.jccl.UsageException if an argument is null or out of range, or a server is named
     *     twice
     */
    public static ReplicatedStore connect(
            List<StoreServer> servers, Optional<TlsCredentials> credentials, Duration timeout) {
        if (servers == null || servers.stream().anyMatch(Objects::isNull) || credentials == null) {
            throw StoreArguments.usage(
                    "ReplicatedStore.connect(%s, %s, %s): null is no argument"
                            .formatted(servers, credentials, Durations.text(timeout)));
        }
        Set<StoreServer> different = new HashSet<>(servers);
        if (servers.size() < FEWEST || different.size() < servers.size()) {
            throw StoreArguments.usage(
                    "a replicated store needs at least %s different servers, to survive the loss of one, got %s"
                            .formatted(FEWEST, servers));
        }
        TlsContext tls = credentials.map(TlsContext::new).orElse(null);
        List<Replica> replicas =
                servers.stream()
                        .map(
                                each ->
                                        new Replica(
                                                TcpStore.address(
                                                        each.host(), each.port(), null, tls),
                                                each.id(),
                                                new Replica.Health()))
                        .toList();
        ReplicatedStore store = new ReplicatedStore(replicas, timeout);
        try {
            replicas.forEach(ReplicatedStore::requireNoRejection);
            store.check(List.of(""));
            return store;
        } catch (StoreException e) {
            store.close();
            throw e;
        }
    }

    /** A wrong certificate stays wrong, while a server that is missing may come back. */
    private static void requireNoRejection(Replica replica) {
        try {
            replica.connect();
        } catch (StoreException e) {
            if (e.getCause() instanceof ClientConnection.HandshakeException) {
                throw e;
            }
        }
    }

    @Override
    public void set(String key, byte[] value) {
        byte[] copy = value(key, value).clone();
        change(key, before -> Content.of(copy));
    }

    private static byte[] value(String key, byte[] value) {
        StoreArguments.key(key);
        if (StoreArguments.value(key, value).length > MAX_VALUE_BYTES) {
            throw StoreArguments.usage(
                    "The value for key '%s' has %d bytes, more than %d, the most of a replicated store"
                            .formatted(key, value.length, MAX_VALUE_BYTES));
        }
        return value;
    }

    private Paxos.Changed change(String key, UnaryOperator<Content> change) {
        Deadline deadline = Deadline.after(timeout);
        return whileOpen(() -> paxos.change(StoreArguments.key(key), change, deadline));
    }

    private interface Call<T> {
        T run();
    }

    private <T> T whileOpen(Call<T> call) {
        requireOpen();
        try {
            return call.run();
        } catch (RuntimeException e) {
            requireOpen();
            throw e;
        }
    }

    private void requireOpen() {
        if (closed) {
            throw StoreArguments.closed(this);
        }
    }

    private List<Content> read(List<String> keys) {
        StoreArguments.keys(keys);
        return keys.isEmpty()
                ? List.of()
                : whileOpen(() -> paxos.read(keys, Deadline.after(timeout)));
    }

    @Override
    public byte[] get(String key) {
        return multiGet(List.of(StoreArguments.key(key))).get(0);
    }

    @Override
    public long add(String key, long delta) {
        StoreArguments.key(key);
        try {
            return once(key, space -> space.add("", delta));
        } catch (NumberFormatException e) {
            throw StoreArguments.notANumber(this, key);
        }
    }

    /** Makes a change that must not be made twice. */
    private long once(String key, ToLongFunction<KeySpace> change) {
        long client = paxos.proposer();
        // A register has the last one of each client, so there is one at a time.
        synchronized (additions) {
            long operation = ++operations;
            Content after = change(key, before -> before.after(client, operation, change)).after();
            return after.last().get(client).result();
        }
    }

    @Override
    public boolean check(List<String> keys) {
        return read(keys).stream().allMatch(content -> content.value().isPresent());
    }

    /**
     * Deletes a key. If a server does not answer, the others keep the name of the key, in which
     * they note that it was deleted, unless another server was started in its place.
     *
     * @param key the key
     * @return whether it was there
     */
    @Override
    public boolean deleteKey(String key) {
        boolean[] there = {false};
        Paxos.Changed deleted =
                change(
                        key,
                        before -> {
                            there[0] |= before.value().isPresent();
                            return Content.MISSING;
                        });
        if (deleted.everywhere()) {
            whileOpen(
                    () -> {
                        replicas.forEach(each -> each.tryDelete(key));
                        return key;
                    });
        }
        return there[0];
    }

    @Override
    public long keyCount() {
        return listKeys().size();
    }

    @Override
    public byte[] compareSet(String key, byte[] expected, byte[] desired) {
        value(key, expected);
        byte[] copy = value(key, desired).clone();
        Content after =
                change(
                                key,
                                before -> {
                                    KeySpace space = new KeySpace();
                                    before.value().ifPresent(old -> space.set("", old));
                                    space.compareSet("", expected, copy);
                                    byte[] now = space.get("");
                                    return now == before.value().orElse(null)
                                            ? before
                                            : Content.of(now);
                                })
                        .after();
        return after.value().orElse(expected).clone();
    }

    @Override
    public void await(List<String> keys, Duration timeout) {
        StoreArguments.keys(keys);
        Deadline deadline = Deadline.after(StoreArguments.timeout(timeout));
        List<String> missing = keys;
        Duration pause = FIRST_POLL;
        while (true) {
            List<Content> contents = read(missing);
            List<String> still = new ArrayList<>();
            for (int i = 0; i < contents.size(); i++) {
                if (contents.get(i).value().isEmpty()) {
                    still.add(missing.get(i));
                }
            }
            missing = still;
            if (missing.isEmpty()) {
                return;
            }
            if (deadline.hasPassed()) {
                throw MissingKeys.timeout(this, keys, timeout);
            }
            deadline.pause(pause);
            Duration next = pause.multipliedBy(2);
            pause = next.compareTo(LONGEST_POLL) > 0 ? LONGEST_POLL : next;
        }
    }

    @Override
    public void append(String key, byte[] value) {
        value(key, value);
        once(
                key,
                space -> {
                    byte[] old = space.get("");
                    if (old != null && old.length + value.length > MAX_VALUE_BYTES
                            || !space.append("", value.clone())) {
                        throw StoreArguments.tooLong(this, key);
                    }
                    return 0;
                });
    }

    @Override
    public List<byte[]> multiGet(List<String> keys) {
        await(keys);
        return read(keys).stream()
                .map(content -> content.value().orElse(new byte[0]).clone())
                .toList();
    }

    @Override
    public void multiSet(List<String> keys, List<byte[]> values) {
        StoreArguments.pairs(keys, values);
        for (int i = 0; i < keys.size(); i++) {
            set(keys.get(i), values.get(i));
        }
    }

    @Override
    public List<String> listKeys() {
        Set<String> names = new TreeSet<>();
        // Connects.
        read(List.of(""));
        whileOpen(
                () -> {
                    int answers = 0;
                    StoreException last = null;
                    for (Replica each : replicas) {
                        try {
                            names.addAll(each.listKeys());
                            answers++;
                        } catch (StoreException e) {
                            last = e;
                        }
                    }
                    if (answers <= replicas.size() / 2) {
                        throw last;
                    }
                    return answers;
                });
        List<String> all = List.copyOf(names);
        List<Content> contents = read(all);
        List<String> present = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            if (contents.get(i).value().isPresent()) {
                present.add(all.get(i));
            }
        }
        return present;
    }

    @Override
    public void barrier(String key, int worldSize, Duration timeout) {
        CountingBarrier.await(this, key, worldSize, timeout);
    }

    /**
     * Returns the host of a server that answers, by which this process may find its own address.
     *
     * @return the name or address of the first server that is connected, or of the first one
     */
    public String host() {
        return replicas.stream()
                .filter(Replica::isConnected)
                .findFirst()
                .orElse(replicas.get(0))
                .host();
    }

    /**
     * Returns whether the connections to the servers use TLS.
     *
     * @return whether the store was connected with credentials
     */
    public boolean isEncrypted() {
        return replicas.get(0).isEncrypted();
    }

    @Override
    public Duration timeout() {
        return timeout;
    }

    @Override
    public ReplicatedStore duplicate(Duration timeout) {
        requireOpen();
        return new ReplicatedStore(replicas.stream().map(Replica::duplicate).toList(), timeout);
    }

    /**
     * Closes the connections. Pending calls of other threads throw {@link org.jccl.UsageException}.
     */
    @Override
    public void close() {
        closed = true;
        replicas.forEach(Replica::close);
    }

    @Override
    public String toString() {
        return "ReplicatedStore" + replicas;
    }
}

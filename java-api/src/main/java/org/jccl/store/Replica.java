package org.jccl.store;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jccl.StoreException;
import org.jccl.spi.CleanUp;

/** A client of one server of a {@link ReplicatedStore}, which connects again after failures. */
final class Replica implements Acceptor, AutoCloseable {

    /** The key of the id of a server. */
    static final String ID = "jccl/server-id";

    private static final Duration CONNECT = Duration.ofSeconds(1);
    private static final Duration ANSWER = Duration.ofSeconds(2);
    private static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
    private static final int MOST_DOUBLINGS = 6;

    /** Before the names of registers, so that other keys of the server are none. */
    private static final String PREFIX = "paxos/";

    /** Is never a value of a register, which has at least two ballots. */
    private static final byte[] ABSENT = {'?'};

    /** What all clients in this process know of a server. */
    static final class Health {
        private final AtomicLong due = new AtomicLong(System.nanoTime());
        private final AtomicInteger failures = new AtomicInteger();
        private volatile boolean gone;

        void answered() {
            failures.set(0);
        }

        /** Counts a failure. The time to the next try doubles with each. */
        void failed() {
            int doublings = Math.min(failures.getAndIncrement(), MOST_DOUBLINGS);
            due.set(System.nanoTime() + (FIRST_PAUSE.toNanos() << doublings));
        }

        boolean isDue() {
            return System.nanoTime() - due.get() >= 0;
        }
    }

    private final ServerAddress address;
    private final String id;
    private final Health health;
    private TcpStore client;
    private boolean closed;

    /**
     * Connects to nothing yet.
     *
     * @param id the id that the server must have; a server that was started again lacks what the
     *     lost one had promised
     */
    Replica(ServerAddress address, String id, Health health) {
        this.address = address;
        this.id = id;
        this.health = health;
    }

    Replica duplicate() {
        return new Replica(address, id, health);
    }

    String host() {
        return address.host();
    }

    boolean isEncrypted() {
        return address.tls() != null;
    }

    @Override
    public synchronized boolean isConnected() {
        return client != null;
    }

    @Override
    public boolean isDue() {
        return health.isDue();
    }

    @Override
    public boolean isGone() {
        return health.gone;
    }

    @Override
    public void connect() {
        try {
            TcpStore connected = connected();
            synchronized (this) {
                if (closed) {
                    connected.close();
                    throw StoreArguments.usage("the connection to " + address + " is closed");
                }
                if (client == null) {
                    client = connected;
                    return;
                }
            }
            connected.close();
        } catch (StoreException e) {
            health.failed();
            throw e;
        }
    }

    private TcpStore connected() {
        TcpStore connected = TcpStore.connectOnce(address, CONNECT, ANSWER);
        byte[] found = connected.compareSet(ID, ABSENT, ABSENT);
        if (new String(found, StandardCharsets.UTF_8).equals(id)) {
            return connected;
        }
        connected.close();
        health.gone = true;
        throw new StoreException(
                "the server at %s was started again, and lacks what the earlier one had"
                        .formatted(address),
                null);
    }

    @Override
    public List<byte[]> read(List<String> keys) {
        List<String> names = keys.stream().map(PREFIX::concat).toList();
        List<byte[]> absent = Collections.nCopies(keys.size(), ABSENT);
        return call(store -> store.multiCompareSet(names, absent, absent)).stream()
                .map(value -> value.length == ABSENT.length ? new byte[0] : value)
                .toList();
    }

    @Override
    public byte[] compareSet(String key, byte[] expected, byte[] desired) {
        return call(store -> store.compareSet(PREFIX + key, expected, desired));
    }

    List<String> listKeys() {
        return call(TcpStore::listKeys).stream()
                .filter(name -> name.startsWith(PREFIX))
                .map(name -> name.substring(PREFIX.length()))
                .toList();
    }

    /** Deletes the register of a deleted key. If that fails, it says that the key is deleted. */
    void tryDelete(String key) {
        if (!isGone()) {
            CleanUp.run(toString(), () -> call(store -> store.deleteKey(PREFIX + key)));
        }
    }

    private interface Call<T> {
        T on(TcpStore store);
    }

    private <T> T call(Call<T> call) {
        TcpStore store;
        synchronized (this) {
            store = client;
        }
        if (store == null) {
            throw new StoreException("the connection to %s was lost".formatted(address), null);
        }
        try {
            T result = call.on(store);
            health.answered();
            return result;
        } catch (StoreException e) {
            health.failed();
            discard(store);
            throw e;
        }
    }

    private synchronized void discard(TcpStore broken) {
        if (broken == client) {
            client = null;
            broken.close();
        }
    }

    @Override
    public String toString() {
        return address.toString();
    }

    @Override
    public void close() {
        TcpStore last;
        synchronized (this) {
            closed = true;
            last = client;
            client = null;
        }
        if (last != null) {
            last.close();
        }
    }
}

package org.jccl.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.WatchOption;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import org.jccl.Store;
import org.jccl.StoreException;

/**
 * A store on etcd, which survives the loss of fewer than half of etcd's members. Its keys are below
 * a prefix, under a lease that all clients of the prefix keep alive: a minute after the last one
 * has ended, the keys are gone.
 *
 * <p>All calls are as those of a {@link org.jccl.store.TcpStore}, with these differences: there are
 * no queues, and a value has at most 1 MiB. A call tries again while members are lost or elect a
 * leader, for {@link #timeout()} but at least ten seconds, and throws {@link StoreException} then.
 * A change is made exactly once, also if an answer was lost.
 *
 * <p>Thread-safe. An interrupt does not end a call. If another thread closes the store, the call
 * throws {@link org.jccl.UsageException}.
 */
public final class EtcdStore extends org.jccl.store.AbstractStore {

    /** etcd takes requests of 1.5 MiB. */
    private static final int LARGEST_VALUE = 1 << 20;

    /** Keys in one request; etcd takes 128 operations. */
    private static final int KEYS = 64;

    /** A watch that was lost without a word is replaced after this time. */
    private static final Duration LOOK = Duration.ofSeconds(2);

    private final EtcdSession session;
    private final CompletableFuture<Void> closing = new CompletableFuture<>();
    private final AtomicBoolean closed = new AtomicBoolean();

    private EtcdStore(EtcdSession session, Duration timeout) {
        super(timeout);
        this.session = session;
    }

    /**
     * Connects to etcd.
     *
     * @param url {@code etcd://host:port,host:port/prefix}, with the options {@code cacert}, {@code
     *     cert}, {@code key} and {@code user} ({@code name:password}) of {@code etcdctl} in the
     *     query. An option that is missing is taken from {@code ETCDCTL_CACERT} and so on in the
     *     environment. {@code ttl} is how many seconds the keys outlive the last client, 60 if it
     *     is missing. Each job needs a prefix of its own
     * @param timeout for connecting, and the timeout of the store
     * @return the store
     * @throws StoreException if too few members answer in time, or reject this client
     * @throws org.jccl.UsageException if the URL is malformed, or the timeout is null or negative
     */
    public static EtcdStore connect(String url, Duration timeout) {
        EtcdAddress address = EtcdAddress.parse(url, System.getenv());
        EtcdSession session = EtcdSession.open(address);
        EtcdStore store = new EtcdStore(session, timeout);
        try {
            session.join(store.limit());
            return store;
        } catch (RuntimeException | Error e) {
            store.close();
            throw e;
        }
    }

    private Attempts limit() {
        if (closed.get()) {
            throw closed();
        }
        return new Attempts(session.address(), timeout(), closing, this::closed);
    }

    private ByteSequence name(String key) {
        return session.key(key);
    }

    private static ByteSequence sequence(byte[] bytes) {
        return ByteSequence.from(bytes);
    }

    @Override
    protected int largestValue() {
        return LARGEST_VALUE;
    }

    @Override
    protected byte[] change(String key, UnaryOperator<byte[]> change) {
        return session.change(name(key), change, limit()).after();
    }

    @Override
    protected boolean remove(String key) {
        return session.change(name(key), before -> null, limit()).before() != null;
    }

    @Override
    protected void write(List<String> keys, List<byte[]> values) {
        List<Op> puts = new ArrayList<>();
        int bytes = 0;
        for (int i = 0; i < keys.size(); i++) {
            int more = values.get(i).length;
            if (!puts.isEmpty() && (puts.size() == KEYS || bytes + more > LARGEST_VALUE)) {
                session.write(puts, limit());
                puts.clear();
                bytes = 0;
            }
            puts.add(session.put(name(keys.get(i)), sequence(values.get(i))));
            bytes += more;
        }
        if (!puts.isEmpty()) {
            session.write(puts, limit());
        }
    }

    /** A consistent look at some keys, with the revision at which it was taken. */
    private List<GetResponse> look(List<String> keys, GetOption option, Attempts attempts) {
        Op[] gets = keys.stream().map(key -> Op.get(name(key), option)).toArray(Op[]::new);
        TxnResponse answer =
                attempts.make("get " + keys.get(0), () -> session.kv().txn().Then(gets).commit());
        return answer.getGetResponses();
    }

    @Override
    protected List<byte[]> read(List<String> keys) {
        List<byte[]> values = new ArrayList<>(keys.size());
        for (int from = 0; from < keys.size(); from += KEYS) {
            List<String> some = keys.subList(from, Math.min(keys.size(), from + KEYS));
            for (GetResponse each : look(some, GetOption.DEFAULT, limit())) {
                List<KeyValue> found = each.getKvs();
                values.add(found.isEmpty() ? null : found.get(0).getValue().getBytes());
            }
        }
        return values;
    }

    /** A key that is missing, and the revision at which it was. */
    private record Missing(String key, long revision) {}

    private Optional<Missing> firstMissing(List<String> keys) {
        GetOption counts = GetOption.builder().withCountOnly(true).build();
        for (int from = 0; from < keys.size(); from += KEYS) {
            List<String> some = keys.subList(from, Math.min(keys.size(), from + KEYS));
            List<GetResponse> found = look(some, counts, limit());
            for (int i = 0; i < found.size(); i++) {
                if (found.get(i).getCount() == 0) {
                    return Optional.of(
                            new Missing(some.get(i), found.get(i).getHeader().getRevision()));
                }
            }
        }
        return Optional.empty();
    }

    @Override
    protected boolean waitFor(List<String> keys, Duration timeout) {
        long begun = System.nanoTime();
        while (true) {
            Optional<Missing> missing = firstMissing(keys);
            if (missing.isEmpty()) {
                return true;
            }
            Duration left = timeout.minusNanos(System.nanoTime() - begun);
            if (left.isNegative() || left.isZero()) {
                return false;
            }
            watch(missing.get(), left.compareTo(LOOK) < 0 ? left : LOOK);
        }
    }

    /** Waits until a key is set, or the watch is lost, or the time is over. */
    private void watch(Missing missing, Duration time) {
        CompletableFuture<Void> seen = new CompletableFuture<>();
        WatchOption option =
                WatchOption.builder()
                        .withRevision(missing.revision() + 1)
                        .withNoDelete(true)
                        .build();
        Watch.Listener listener =
                Watch.listener(
                        event -> seen.complete(null),
                        lost -> seen.complete(null),
                        () -> seen.complete(null));
        Watch.Watcher watcher =
                session.client().getWatchClient().watch(name(missing.key()), option, listener);
        try {
            limit().await(seen, time);
        } finally {
            watcher.close();
        }
    }

    @Override
    public List<String> listKeys() {
        ByteSequence all = name("");
        GetOption option = GetOption.builder().isPrefix(true).withKeysOnly(true).build();
        GetResponse answer = limit().make("list keys", () -> session.kv().get(all, option));
        return answer.getKvs().stream()
                .map(each -> each.getKey().substring(all.size()).toString(StandardCharsets.UTF_8))
                .toList();
    }

    @Override
    public long keyCount() {
        GetOption option = GetOption.builder().isPrefix(true).withCountOnly(true).build();
        return limit().make("count keys", () -> session.kv().get(name(""), option)).getCount();
    }

    @Override
    public Optional<String> serverHost() {
        return Optional.of(session.address().firstHost());
    }

    @Override
    public boolean isEncrypted() {
        return session.address().certificates().isPresent();
    }

    @Override
    protected Store another(Duration timeout) {
        if (closed.get() || !session.retain()) {
            throw closed();
        }
        return new EtcdStore(session, timeout);
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            closing.complete(null);
            session.release();
        }
    }

    /** Where the store is. */
    @Override
    public String toString() {
        return "EtcdStore(" + session.address() + ")";
    }
}

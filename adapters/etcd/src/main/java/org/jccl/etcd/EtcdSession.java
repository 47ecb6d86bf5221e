package org.jccl.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Lease;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLException;
import org.jccl.FailureContext;
import org.jccl.StoreException;
import org.jccl.UsageException;

/**
 * A client of etcd, its part in keeping the lease of the prefix alive, and its changes.
 *
 * <p>An answer may be lost, and a request may be made by a member long after its sender gave up. So
 * each change also sets a key of this session, the mark, and is made only if the mark has not been
 * set since. A change whose answer was lost is then either seen at the mark, or never made.
 */
final class EtcdSession {

    /** How often in its life a lease is prolonged. */
    private static final int RENEWALS = 6;

    private static final Duration GOODBYE = Duration.ofSeconds(1);
    private static final Duration KEEP_ALIVE = Duration.ofSeconds(10);
    private static final int LARGEST_ANSWER = 256 << 20;
    private static final Logger LOGGER = System.getLogger(EtcdStore.class.getName());

    /** A value before and after a change; null if the key was or is missing. */
    record Change(byte[] before, byte[] after) {}

    private final EtcdAddress address;
    private final Client client;
    private final ByteSequence mark;
    private final ByteSequence leaseKey;
    private final CompletableFuture<Void> ended = new CompletableFuture<>();
    private volatile long lease;
    private int users = 1;

    /** Orders the changes of this session. */
    private final ReentrantLock changes = new ReentrantLock();

    // Guarded by the lock of changes.
    private long markRevision;
    private long change;

    private EtcdSession(EtcdAddress address, Client client) {
        this.address = address;
        this.client = client;
        this.mark = sequence("mark/" + UUID.randomUUID());
        this.leaseKey = sequence("lease");
    }

    /** Opens a client, which connects with its first request. */
    static EtcdSession open(EtcdAddress address) {
        boolean tls = address.certificates().isPresent();
        ClientBuilder builder =
                Client.builder()
                        .endpoints(
                                address.hosts().stream()
                                        .map(host -> (tls ? "https://" : "http://") + host)
                                        .map(URI::create)
                                        .toArray(URI[]::new))
                        .loadBalancerPolicy("round_robin")
                        .maxInboundMessageSize(LARGEST_ANSWER)
                        .keepaliveTime(KEEP_ALIVE)
                        .keepaliveTimeout(KEEP_ALIVE)
                        .waitForReady(false)
                        .retryMaxAttempts(1);
        address.user()
                .ifPresent(
                        user ->
                                builder.user(ByteSequence.from(user.name(), StandardCharsets.UTF_8))
                                        .password(
                                                ByteSequence.from(
                                                        user.password(), StandardCharsets.UTF_8)));
        try {
            if (tls) {
                EtcdAddress.Certificates files = address.certificates().get();
                builder.sslContext(
                        context -> {
                            context.trustManager(files.authorities());
                            if (files.certificate().isPresent()) {
                                context.keyManager(
                                        files.certificate().get(), files.key().orElseThrow());
                            }
                        });
            }
            return new EtcdSession(address, builder.build());
        } catch (SSLException | IllegalArgumentException e) {
            throw new UsageException(
                    FailureContext.NONE,
                    "%s: TLS cannot be used: %s; check the files of cacert, cert and key"
                            .formatted(address, e.getMessage()));
        }
    }

    EtcdAddress address() {
        return address;
    }

    Client client() {
        return client;
    }

    KV kv() {
        return client.getKVClient();
    }

    private ByteSequence sequence(String name) {
        String slash = address.prefix().isEmpty() || address.prefix().endsWith("/") ? "" : "/";
        return ByteSequence.from(address.prefix() + slash + name, StandardCharsets.UTF_8);
    }

    /** The name of a key in etcd. */
    ByteSequence key(String key) {
        return sequence("keys/" + key);
    }

    Op put(ByteSequence key, ByteSequence value) {
        return Op.put(key, value, PutOption.builder().withLeaseId(lease).build());
    }

    /** Finds the lease of the prefix, or makes it, and keeps it alive from now on. */
    void join(Attempts attempts) {
        Lease leases = client.getLeaseClient();
        while (lease == 0) {
            List<KeyValue> found =
                    attempts.make("get the lease", () -> kv().get(leaseKey)).getKvs();
            long candidate =
                    found.isEmpty()
                            ? attempts.make(
                                            "grant a lease",
                                            () -> leases.grant(address.life().toSeconds()))
                                    .getID()
                            : number(leaseKey, found.get(0).getValue());
            if (found.isEmpty() ? register(candidate, attempts) : isAlive(candidate, attempts)) {
                lease = candidate;
            } else {
                attempts.requireTime("joining");
            }
        }
        Thread renewing = new Thread(this::keepAlive, "jccl-etcd-lease");
        renewing.setDaemon(true);
        renewing.start();
    }

    private long number(ByteSequence key, ByteSequence value) {
        String text = value.toString(StandardCharsets.UTF_8);
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new StoreException(
                    "%s: the key '%s' is damaged: it is '%s' and not a number. Another program writes under this prefix: use one of JCCL alone"
                            .formatted(address, key.toString(StandardCharsets.UTF_8), text),
                    e);
        }
    }

    /** Makes a new lease that of the prefix, unless another client was faster. */
    private boolean register(long candidate, Attempts attempts) {
        ByteSequence id = ByteSequence.from(Long.toString(candidate), StandardCharsets.UTF_8);
        Cmp isMissing = new Cmp(leaseKey, Cmp.Op.EQUAL, CmpTarget.version(0));
        Op put = Op.put(leaseKey, id, PutOption.builder().withLeaseId(candidate).build());
        TxnResponse answer =
                attempts.make(
                        "register a lease",
                        () ->
                                kv().txn()
                                        .If(isMissing)
                                        .Then(put)
                                        .Else(Op.get(leaseKey, GetOption.DEFAULT))
                                        .commit());
        // An attempt whose answer was lost may have registered it.
        boolean own =
                answer.isSucceeded()
                        || answer.getGetResponses().get(0).getKvs().stream()
                                .anyMatch(each -> each.getValue().equals(id));
        if (!own) {
            attempts.make("revoke a lease", () -> client.getLeaseClient().revoke(candidate));
        }
        return own;
    }

    /** Prolongs a lease that another client has made; it may be over, and its key with it soon. */
    private boolean isAlive(long candidate, Attempts attempts) {
        try {
            attempts.make(
                    "prolong the lease", () -> client.getLeaseClient().keepAliveOnce(candidate));
            return true;
        } catch (StoreException e) {
            attempts.await(new CompletableFuture<>(), Duration.ofMillis(100));
            List<KeyValue> found =
                    attempts.make("get the lease", () -> kv().get(leaseKey)).getKvs();
            if (found.isEmpty()) {
                return false;
            }
            throw e;
        }
    }

    private void keepAlive() {
        Attempts end = attemptsToTheEnd();
        Duration pause = address.life().dividedBy(RENEWALS);
        boolean failed = false;
        while (!ended.isDone()) {
            try {
                if (end.await(ended, pause)) {
                    return;
                }
                attemptsToTheEnd()
                        .make(
                                "prolong the lease",
                                () -> client.getLeaseClient().keepAliveOnce(lease));
                failed = false;
            } catch (UsageException closed) {
                return;
            } catch (StoreException e) {
                if (!failed) {
                    LOGGER.log(
                            Level.WARNING,
                            "the keys of {0} are lost if no client prolongs their lease: {1}",
                            address,
                            e.getMessage());
                }
                failed = true;
            }
        }
    }

    private Attempts attemptsToTheEnd() {
        return new Attempts(
                address,
                address.life(),
                ended,
                () -> new UsageException(FailureContext.NONE, address + " is closed"));
    }

    /**
     * Changes a value exactly once.
     *
     * @param change the new value from the old one, either of which may be null; its argument for
     *     no change
     */
    Change change(ByteSequence key, UnaryOperator<byte[]> change, Attempts attempts) {
        attempts.lock(changes);
        try {
            long number = ++this.change;
            List<Change> tried = new ArrayList<>();
            while (true) {
                List<KeyValue> found = attempts.make("get a value", () -> kv().get(key)).getKvs();
                byte[] before = found.isEmpty() ? null : found.get(0).getValue().getBytes();
                long revision = found.isEmpty() ? 0 : found.get(0).getModRevision();
                byte[] after = change.apply(before);
                if (after == before) {
                    return new Change(before, after);
                }
                tried.add(new Change(before, after));
                Op op =
                        after == null
                                ? Op.delete(key, DeleteOption.DEFAULT)
                                : put(key, ByteSequence.from(after));
                Cmp same = new Cmp(key, Cmp.Op.EQUAL, CmpTarget.modRevision(revision));
                Optional<Integer> made =
                        commit(List.of(op), List.of(same), number, tried.size() - 1, attempts);
                if (made.isPresent()) {
                    return tried.get(made.get());
                }
                attempts.requireTime("a change");
            }
        } finally {
            changes.unlock();
        }
    }

    /** Writes values, whatever there was before. */
    void write(List<Op> puts, Attempts attempts) {
        attempts.lock(changes);
        try {
            long number = ++change;
            while (commit(puts, List.of(), number, 0, attempts).isEmpty()) {
                attempts.requireTime("a change"); // only the mark was out of date
            }
        } finally {
            changes.unlock();
        }
    }

    /**
     * Makes a change if the conditions hold, and no other was made whose answer was lost.
     *
     * @return the attempt that was made, this one or an earlier one; empty if none was
     */
    private Optional<Integer> commit(
            List<Op> ops, List<Cmp> conditions, long number, int attempt, Attempts attempts) {
        List<Cmp> all = new ArrayList<>(conditions);
        all.add(new Cmp(mark, Cmp.Op.EQUAL, CmpTarget.modRevision(markRevision)));
        List<Op> then = new ArrayList<>(ops);
        String text = number + " " + attempt;
        then.add(put(mark, ByteSequence.from(text, StandardCharsets.UTF_8)));
        TxnResponse answer =
                attempts.make(
                        "a change",
                        () ->
                                kv().txn()
                                        .If(all.toArray(Cmp[]::new))
                                        .Then(then.toArray(Op[]::new))
                                        .Else(Op.get(mark, GetOption.DEFAULT))
                                        .commit());
        if (answer.isSucceeded()) {
            markRevision = answer.getHeader().getRevision();
            return Optional.of(attempt);
        }
        List<KeyValue> marks = answer.getGetResponses().get(0).getKvs();
        if (marks.isEmpty() && markRevision != 0) {
            throw new StoreException(
                    address + ": the keys of this client are gone. " + Attempts.LEASE_GONE, null);
        }
        for (KeyValue each : marks) {
            if (each.getModRevision() != markRevision) {
                markRevision = each.getModRevision();
                String[] made = each.getValue().toString(StandardCharsets.UTF_8).split(" ", 2);
                if (made[0].equals(Long.toString(number))) {
                    String last = made.length < 2 ? "" : made[1];
                    ByteSequence attemptText = ByteSequence.from(last, StandardCharsets.UTF_8);
                    return Optional.of(Math.toIntExact(number(mark, attemptText)));
                }
            }
        }
        return Optional.empty();
    }

    /** Adds a store that uses this session; false if it has ended. */
    synchronized boolean retain() {
        if (users == 0) {
            return false;
        }
        users++;
        return true;
    }

    /** Ends the session with its last store. */
    void release() {
        synchronized (this) {
            users--;
            if (users > 0) {
                return;
            }
        }
        try {
            if (lease != 0) {
                attemptsToTheEnd().await(kv().delete(mark), GOODBYE);
            }
        } finally {
            ended.complete(null);
            client.close();
        }
    }
}

package org.jccl.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Three members of a real etcd, of which one is lost while clients make changes. */
@Timeout(240)
@Tag("all")
final class EtcdFailureTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));

    @TempDir private Path folder;

    private EtcdCluster etcd;
    private final AtomicBoolean ending = new AtomicBoolean();
    private final AtomicLong added = new AtomicLong();
    private final AtomicLong appended = new AtomicLong();

    @BeforeEach
    void start() throws Exception {
        etcd = EtcdCluster.start(3, folder);
    }

    @AfterEach
    void end() {
        ending.set(true);
        if (etcd != null) {
            etcd.close();
        }
    }

    private Store connect() {
        return EtcdStore.connect(etcd.url("job"), LONG);
    }

    /** Changes that must be made exactly once each. */
    private CompletableFuture<Void> work(int client) {
        return CompletableFuture.runAsync(
                () -> {
                    try (Store store = connect()) {
                        while (!ending.get()) {
                            store.add("n", 1);
                            added.incrementAndGet();
                            store.append("a", new byte[] {1});
                            appended.incrementAndGet();
                            store.set("own" + client, bytes(added.get()));
                        }
                    }
                },
                task -> new Thread(task).start());
    }

    private static byte[] bytes(long number) {
        return Long.toString(number).getBytes(StandardCharsets.UTF_8);
    }

    private void awaitMore() throws InterruptedException {
        long before = added.get();
        while (added.get() < before + 20) {
            TimeUnit.MILLISECONDS.sleep(20);
        }
    }

    private int leader() throws Exception {
        for (int leader = etcd.leader(); true; leader = etcd.leader()) {
            if (leader >= 0) {
                return leader;
            }
            TimeUnit.MILLISECONDS.sleep(100);
        }
    }

    /** Killed, stopped, with what it knew and without, and leading or not. */
    @Test
    void everyChangeIsMadeOnceWhateverHappensToOneMember() throws Exception {
        List<CompletableFuture<Void>> clients = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            clients.add(work(i));
        }
        CompletableFuture<byte[]> waiting =
                CompletableFuture.supplyAsync(
                        () -> {
                            try (Store store =
                                    EtcdStore.connect(
                                            etcd.url("job"), enough(Duration.ofSeconds(200)))) {
                                return store.get("at the end");
                            }
                        },
                        task -> new Thread(task).start());
        awaitMore();
        int first = leader();
        etcd.kill(first);
        awaitMore();
        assertThat(leader()).as("another one leads").isNotEqualTo(first);
        etcd.restart(first);
        awaitMore();

        int stopped = leader();
        etcd.signal(stopped, "STOP");
        awaitMore();
        etcd.signal(stopped, "CONT");
        awaitMore();

        int follower = (leader() + 1) % 3;
        etcd.kill(follower);
        awaitMore();
        etcd.replace(follower);
        awaitMore();
        int last = (follower + 1) % 3;
        etcd.kill(last);
        awaitMore();
        etcd.restart(last);
        ending.set(true);
        for (CompletableFuture<Void> each : clients) {
            each.get(60, TimeUnit.SECONDS);
        }
        try (Store store = connect()) {
            assertThat(store.add("n", 0)).isEqualTo(added.get());
            assertThat(store.get("a")).hasSize((int) appended.get());
            assertThat(store.keyCount()).isEqualTo(5);
            store.set("at the end", bytes(1));
            assertThat(waiting.get(60, TimeUnit.SECONDS)).isEqualTo(bytes(1));
        }
    }

    @Test
    void withoutAMajorityCallsEndAndSayWhy() throws Exception {
        try (Store store = EtcdStore.connect(etcd.url("job"), expires(Duration.ofSeconds(1)))) {
            store.set("k", bytes(1));
            etcd.kill(0);
            etcd.kill(1);
            assertThatThrownBy(() -> store.add("n", 1))
                    .isInstanceOf(StoreTimeoutException.class)
                    .hasMessageContaining("more than half of etcd's members");
            assertThatThrownBy(() -> store.await(List.of("k2"))).isInstanceOf(StoreException.class);
            etcd.restart(0);
            assertThat(store.get("k")).isEqualTo(bytes(1));
        }
    }

    /** As if all clients had been cut off for longer than the keys live. */
    @Test
    void changesEndWhenTheLeaseIsGone() throws Exception {
        String url = etcd.url("cut");
        try (Store store = EtcdStore.connect(url, LONG);
                Client client =
                        Client.builder()
                                .endpoints(
                                        "http://" + EtcdAddress.parse(url, Map.of()).hosts().get(0))
                                .build()) {
            store.set("k", bytes(1));
            ByteSequence name = ByteSequence.from("cut/lease", StandardCharsets.UTF_8);
            String lease =
                    client.getKVClient()
                            .get(name)
                            .get(60, TimeUnit.SECONDS)
                            .getKvs()
                            .get(0)
                            .getValue()
                            .toString(StandardCharsets.UTF_8);
            client.getLeaseClient().revoke(Long.parseLong(lease)).get(60, TimeUnit.SECONDS);
            assertThatThrownBy(() -> store.set("k", bytes(2)))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("start the job again");
            assertThatThrownBy(() -> store.add("n", 1))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("start the job again");
        }
    }

    @Test
    void aDeadJobLeavesNothing() throws Exception {
        String url = etcd.url("dead") + "?ttl=2";
        Store first = EtcdStore.connect(url, LONG);
        Store second = EtcdStore.connect(url, LONG);
        first.set("k", bytes(1));
        first.close();
        // The other client keeps the keys, for longer than they would live.
        for (int i = 0; i < 8; i++) {
            TimeUnit.MILLISECONDS.sleep(500);
            assertThat(second.check(List.of("k"))).isTrue();
        }
        second.close();
        while (etcd.keys("dead") > 0) {
            TimeUnit.MILLISECONDS.sleep(100);
        }
        try (Store third = EtcdStore.connect(url, LONG)) {
            assertThat(third.keyCount()).isZero();
        }
    }
}

package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.UsageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class ReplicatedStoreTest extends StoreContract {

    private final List<TcpStoreServer> running = new ArrayList<>();
    private final List<StoreServer> servers =
            IntStream.range(0, 3).mapToObj(number -> start("id" + number, 0)).toList();

    private StoreServer start(String id, int port) {
        TcpStoreServer server =
                TcpStoreServer.bind(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), port),
                        Map.of(StoreServer.ID_KEY, bytes(id)));
        running.add(server);
        return new StoreServer("127.0.0.1", server.port(), id);
    }

    @Override
    ReplicatedStore connect(Duration timeout) {
        return ReplicatedStore.connect(servers, Optional.empty(), timeout);
    }

    @AfterEach
    void closeServers() {
        running.forEach(TcpStoreServer::close);
    }

    @Override
    int manyKeys() {
        return 300;
    }

    @Override
    int largestValue() {
        return ReplicatedStore.MAX_VALUE_BYTES;
    }

    @Test
    void anyServerMayBeLost() throws Exception {
        store.set("before", bytes("1"));
        store.add("n", 1);
        for (int lost = 0; lost < 3; lost++) {
            ReplicatedStoreTest other = new ReplicatedStoreTest();
            try (Store client = other.connect(LONG);
                    Store duplicate = client.duplicate(LONG)) {
                client.set("before", bytes("1"));
                client.add("n", 1);
                other.running.get(lost).close();
                assertThat(client.get("before")).isEqualTo(bytes("1"));
                assertThat(duplicate.add("n", 1)).isEqualTo(2);
                client.set("after", bytes("2"));
                assertThat(duplicate.get("after")).isEqualTo(bytes("2"));
                assertThat(client.listKeys()).containsExactlyInAnyOrder("before", "n", "after");
                assertThat(client.deleteKey("after")).isTrue();
                assertThat(duplicate.check(List.of("after"))).isFalse();
                assertThat(duplicate.keyCount()).isEqualTo(2);
                try (Store late = other.connect(LONG)) {
                    assertThat(late.add("n", 1)).isEqualTo(3);
                }
            } finally {
                other.closeServers();
            }
        }
    }

    @Test
    void aServerThatWasStartedAgainDoesNotCount() {
        store.set("k", bytes("v"));
        running.get(0).close();
        store.set("k", bytes("w"));
        start("another id", servers.get(0).port());
        try (Store late = connect(LONG)) {
            assertThat(late.get("k")).isEqualTo(bytes("w"));
        }
        running.get(1).close();
        try (Store late = store.duplicate(SHORT)) {
            assertThatThrownBy(() -> late.get("k"))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("2 of 3 servers")
                    .hasMessageContaining("was started again")
                    .hasMessageContaining(":" + servers.get(1).port());
        }
        assertThatThrownBy(() -> connect(SHORT)).isInstanceOf(StoreException.class);
    }

    @Test
    void aMajorityThatComesBackIsUsedAgain() throws Exception {
        store.set("k", bytes("v"));
        running.get(0).close();
        running.get(1).close();
        Future<byte[]> waiting = async(() -> store.get("k"));
        Store closing = store.duplicate(LONG);
        Future<byte[]> closed = async(() -> closing.get("k"));
        Thread.sleep(300);
        assertThat(waiting).isNotDone();
        closing.close();
        assertThatThrownBy(() -> join(closed))
                .cause()
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("closed");
        // The same id stands for a server that was only cut off.
        running.add(restarted(servers.get(1)));
        assertThat(join(waiting)).isEqualTo(bytes("v"));
    }

    private TcpStoreServer restarted(StoreServer server) {
        byte[] register;
        try (TcpStore third =
                TcpStore.connect(servers.get(2).host(), servers.get(2).port(), LONG)) {
            register = third.get("paxos/k");
        }
        return TcpStoreServer.bind(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()),
                Map.of(StoreServer.ID_KEY, bytes(server.id()), "paxos/k", register));
    }

    @Test
    void aServerThatLacksTheLastChangesIsBroughtUpToDate() throws Exception {
        StoreServer third = servers.get(2);
        try (TcpStore raw = TcpStore.connect(third.host(), third.port(), LONG)) {
            store.set("k", bytes("old"));
            byte[] old = raw.get("paxos/k");
            store.set("k", bytes("new"));
            // As if the server had been cut off meanwhile.
            raw.set("paxos/k", old);
            running.get(0).close();
            try (Store late = connect(LONG)) {
                assertThat(late.get("k")).isEqualTo(bytes("new"));
            }
            assertThat(Register.of(raw.get("paxos/k")).content().value())
                    .hasValueSatisfying(value -> assertThat(value).isEqualTo(bytes("new")));
        }
    }

    @Test
    void deletedKeysLeaveNothingBehindWhereAllServersAnswer() {
        store.set("k", bytes("v"));
        assertThat(store.deleteKey("k")).isTrue();
        for (StoreServer each : servers) {
            try (TcpStore raw = TcpStore.connect(each.host(), each.port(), LONG)) {
                assertThat(raw.listKeys()).containsExactly(StoreServer.ID_KEY);
            }
        }
    }

    /** Otherwise a job that loses a server would collect the keys of all later generations. */
    @Test
    void deletedKeysLeaveNothingBehindWhereAServerWasStartedAgain() {
        running.get(0).close();
        start("another id", servers.get(0).port());
        try (Store late = connect(LONG)) {
            late.set("k", bytes("v"));
            assertThat(late.deleteKey("k")).isTrue();
        }
        for (StoreServer each : servers) {
            try (TcpStore raw = TcpStore.connect(each.host(), each.port(), LONG)) {
                assertThat(raw.listKeys()).containsExactly(StoreServer.ID_KEY);
            }
        }
    }

    @Test
    void oneOfManyClientsWins() throws Exception {
        List<Future<Boolean>> all = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            Store client = open(LONG);
            byte[] own = bytes("client" + i);
            all.add(async(() -> List.of(own).contains(client.compareSet("k", bytes(""), own))));
        }
        List<byte[]> seen = new ArrayList<>();
        for (Future<Boolean> each : all) {
            join(each);
            seen.add(store.get("k"));
        }
        assertThat(seen).allMatch(value -> java.util.Arrays.equals(value, seen.get(0)));
    }

    @Test
    void serversAsText() {
        List<StoreServer> some =
                List.of(
                        new StoreServer("host-1", 29500, "a"),
                        new StoreServer("fe80::1", 1, "b-c"));
        assertThat(StoreServer.text(some)).isEqualTo("host-1:29500=a,[fe80::1]:1=b-c");
        assertThat(StoreServer.parse(StoreServer.text(some))).isEqualTo(some);
        for (String wrong :
                List.of("", "host", "host:1", "host:1=", "host:1=a,", "host:123456=a")) {
            assertThatThrownBy(() -> StoreServer.parse(wrong))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("host:port=id");
        }
    }

    @Test
    void needsThreeServers() {
        assertThatThrownBy(
                        () ->
                                ReplicatedStore.connect(
                                        servers.subList(0, 2), Optional.empty(), LONG))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("at least 3");
        assertThatThrownBy(() -> ReplicatedStore.connect(null, Optional.empty(), LONG))
                .isInstanceOf(UsageException.class);
        List<StoreServer> withNull = new ArrayList<>(servers);
        withNull.set(1, null);
        assertThatThrownBy(() -> ReplicatedStore.connect(withNull, Optional.empty(), LONG))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> new StoreServer("host", 1, null))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> store.queuePush("q", bytes("v")))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("no queues");
    }
}

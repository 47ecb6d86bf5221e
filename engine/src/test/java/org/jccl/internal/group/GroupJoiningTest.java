package org.jccl.internal.group;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.NEVER;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.internal.backend.Backend;
import org.jccl.internal.host.ScriptedCommunicator;
import org.jccl.internal.host.ScriptedProvider;
import org.jccl.spi.Arrivals;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.HashStore;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.FreezingRelay;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What joining a group says when it fails, and how long it may take. */
@Timeout(120)
class GroupJoiningTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

    private Consumer<CommunicatorConfig> connect = config -> {};

    private final BackendProvider provider =
            new ScriptedProvider(
                    config -> {
                        connect.accept(config);
                        return new ScriptedCommunicator().communicator();
                    });

    private Group world(int rank, Store store, boolean rankZeroServes) {
        return world(rank, store, rankZeroServes, TIMEOUT);
    }

    private Group world(int rank, Store store, boolean rankZeroServes, Duration timeout) {
        return new WorldBuilder(
                        rank,
                        3,
                        timeout,
                        List.of(new Backend(provider, Device.CPU, Optional.empty())))
                .store(store, rankZeroServes)
                .connect();
    }

    private static TcpStoreServer server() {
        return TcpStoreServer.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    private static void say(Store store, String key, String text) {
        store.set(key, text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * A rank that gives up closes its connections, and so others lose it who did not yet lose more.
     */
    @Test
    void theRankThatIsGoneIsNamedAndNotTheOneThatLostItFirst() {
        Store store = HashStore.create(TIMEOUT);
        Group world = world(0, store, false);
        connect =
                config -> {
                    throw new PeerLostException(FailureContext.NONE, "lost rank 1", 1);
                };
        String failures = "world/0,1,2/scripted/desync/failure/";
        say(store, failures + "1", "1\nPeerLostException\n2\nlost rank 2");
        assertThatThrownBy(() -> world.newGroup(List.of(0, 1, 2), Optional.empty()))
                .isInstanceOf(PeerLostException.class)
                .hasMessageContaining("rank 1 reported: lost rank 2")
                .satisfies(thrown -> assertThat(((PeerLostException) thrown).peer()).hasValue(2));
        // So others can follow it further.
        assertThat(store.check(List.of(failures + "0"))).isTrue();
        world.close();
    }

    /** Else those that lose it blame it, and not the one that it waited for. */
    @Test
    void aRankThatGivesUpSaysWhy() {
        Store store = HashStore.create(TIMEOUT);
        Group world = world(0, store, false);
        Group other = world(1, store, false);
        connect =
                config -> {
                    throw new OperationTimeoutException(FailureContext.NONE, "rank 2 is late");
                };
        assertThatThrownBy(() -> world.newGroup(List.of(0, 1, 2), Optional.empty()))
                .isInstanceOf(OperationTimeoutException.class);
        connect =
                config -> {
                    throw new PeerLostException(FailureContext.NONE, "lost rank 0", 0);
                };
        assertThatThrownBy(() -> other.newGroup(List.of(0, 1, 2), Optional.empty()))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("rank 0 reported: rank 2 is late");
        other.close();
        world.close();
    }

    @Test
    void allOfASplitHasOneDeadline() {
        Store store = HashStore.create(TIMEOUT);
        Group world = world(0, store, false);
        CompletableFuture<Duration> left = new CompletableFuture<>();
        connect = config -> left.complete(config.joinTimeout());
        say(store, "world/split/0/1", "0 0");
        CompletableFuture<Long> late =
                CompletableFuture.supplyAsync(
                        () -> {
                            // From here on the deadline runs.
                            store.await(List.of("world/split/0/0"));
                            long start = System.nanoTime();
                            LockSupport.parkNanos(50_000_000);
                            long waited = System.nanoTime() - start;
                            say(store, "world/split/0/2", "0 0");
                            return waited;
                        },
                        task -> new Thread(task).start());
        world.split(0, 0, Optional.empty()).orElseThrow().close();
        assertThat(left.join()).isLessThanOrEqualTo(TIMEOUT.minusNanos(late.join()));
        world.close();
    }

    /** It closed the world, or its process ended. */
    @Test
    void rankZeroIsNamedWhenItIsGoneWithItsStore() throws Exception {
        TcpStoreServer server = server();
        try (TcpStore store = TcpStore.connect("127.0.0.1", server.port(), TIMEOUT)) {
            Group world = world(1, store, true);
            server.close();
            assertThatThrownBy(() -> world.monitoredBarrier(TIMEOUT, true))
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("rank 0 of the world, which serves the store, is gone")
                    .satisfies(
                            thrown -> assertThat(((PeerLostException) thrown).peer()).hasValue(0));
            assertThatThrownBy(() -> world.split(0, 0, Optional.empty()))
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("rank 0 of the world");
            world.close();
        }
    }

    @Test
    void aStoreThatSomebodyElseServesIsJustGone() throws Exception {
        TcpStoreServer server = server();
        try (TcpStore store = TcpStore.connect("127.0.0.1", server.port(), TIMEOUT)) {
            Group world = world(1, store, false);
            server.close();
            assertThatThrownBy(() -> world.split(0, 0, Optional.empty()))
                    .isInstanceOf(StoreException.class);
            world.close();
        }
    }

    @Test
    void aRankThatDoesNotComeIsNamedAndNotRankZeroWhoseStoreAnswers() {
        Store store = HashStore.create(TIMEOUT);
        Group world = world(1, store, true);
        connect =
                config -> {
                    throw new OperationTimeoutException(FailureContext.NONE, "rank 2 is late");
                };
        assertThatThrownBy(() -> world.newGroup(List.of(1, 2), Optional.empty()))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageEndingWith("rank 2 is late");
        world.close();
    }

    /** Its process was stopped, or its host: connections stay, and nothing comes from there. */
    @Test
    void aFrozenStoreDoesNotProlongTheTimeout() throws Exception {
        Duration limit = expires(Duration.ofSeconds(2));
        try (TcpStoreServer server = server();
                FreezingRelay relay = new FreezingRelay(server.port())) {
            for (int rank = 0; rank < 2; rank++) {
                TcpStore store = TcpStore.connect("127.0.0.1", relay.port(), NEVER);
                Group world = world(rank, store, true, limit);
                connect =
                        config ->
                                new Arrivals(config.store().orElseThrow(), 3, key -> "here/" + key)
                                        .exchange(
                                                config.rank(),
                                                new byte[0],
                                                config.joinTimeout(),
                                                "scripted",
                                                config.timeout());
                relay.freeze();
                assertThatThrownBy(() -> world.newGroup(List.of(0, 1, 2), Optional.empty()))
                        .isInstanceOf(OperationTimeoutException.class)
                        .hasMessageContaining("the store does not answer");
                connect = config -> {};
                world.close();
                relay.thaw();
                store.close();
            }
        }
    }
}

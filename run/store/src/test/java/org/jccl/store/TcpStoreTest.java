package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.expires;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class TcpStoreTest extends QueueContract {

    private static final InetSocketAddress ANY_PORT =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private final TcpStoreServer server = TcpStoreServer.bind(ANY_PORT);

    @Override
    TcpStore connect(Duration timeout) {
        return TcpStore.connect("127.0.0.1", server.port(), timeout);
    }

    @AfterEach
    void closeServer() {
        server.close();
    }

    @Test
    void serverCountsTheWorkers() throws Exception {
        try (TcpStore host = connect(LONG);
                TcpStore worker = connect(LONG)) {
            long before = host.keyCount();
            Future<?> waiting = asyncRun(() -> host.awaitWorkers(2, LONG));
            assertThat(host.joinWorkers()).isEqualTo(1);
            assertThat(worker.joinWorkers()).isEqualTo(2);
            join(waiting);
            assertThat(host.keyCount()).isEqualTo(before + 1);
            assertThat(host.listKeys()).isEmpty();
            assertThatThrownBy(() -> host.awaitWorkers(3, SHORT))
                    .isInstanceOf(StoreTimeoutException.class)
                    .hasMessageContaining("Timed out after 100 ms waiting for clients")
                    .hasMessageContaining("2/3 clients joined");
            assertThatThrownBy(() -> host.awaitWorkers(0, LONG)).isInstanceOf(UsageException.class);
        }
    }

    @Test
    void deathOfTheServerEndsWaitsAndLaterCalls() throws Exception {
        Future<byte[]> waiting = async(() -> store.get("never"));
        store.add("connects the second connection", 1);
        server.close();
        server.close();
        String where = "127.0.0.1:" + server.port();
        assertThatThrownBy(() -> join(waiting))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(StoreException.class)
                .hasMessageContaining(where);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> store.add("n", 1))
                    .isInstanceOf(StoreException.class)
                    .isNotInstanceOf(StoreTimeoutException.class)
                    .hasMessageContaining(where)
                    .hasMessageContaining("keep it running");
        }
    }

    @Test
    void refusedRequestCostsOnlyTheConnection() {
        store.append("a", new byte[StoreArguments.MAX_VALUE_BYTES]);
        store.append("a", new byte[1]);
        assertThatThrownBy(() -> store.check(List.of("a")))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("refused this or an earlier request");
        assertThat(store.check(List.of("a"))).isTrue();
    }

    @Test
    void noServerIsNamed() throws Exception {
        int free;
        try (ServerSocket socket = new ServerSocket(0)) {
            free = socket.getLocalPort();
        }
        // Long enough for one try where others want the processor.
        assertThatThrownBy(
                        () -> TcpStore.connect("127.0.0.1", free, expires(Duration.ofSeconds(1))))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("127.0.0.1:" + free)
                .hasMessageContaining("refused");
        assertThatThrownBy(() -> TcpStore.connect("no-such-host.invalid", free, SHORT))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("no-such-host.invalid");
    }

    @Test
    void waitsForAServerThatStartsLate() throws Exception {
        int port = server.port();
        server.close();
        Future<TcpStore> connecting = async(() -> TcpStore.connect("127.0.0.1", port, LONG));
        try (TcpStoreServer late =
                        TcpStoreServer.bind(
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
                TcpStore client = join(connecting)) {
            assertThat(late.port()).isEqualTo(port);
            assertThat(client.add("n", 1)).isEqualTo(1);
            assertThat(client.host()).isEqualTo("127.0.0.1");
            assertThat(client.port()).isEqualTo(port);
        }
    }

    @Test
    void somethingElseOnThePortIsNamed() throws Exception {
        try (ServerSocket other = new ServerSocket(0)) {
            Future<?> closing =
                    async(
                            () -> {
                                other.accept().close();
                                return null;
                            });
            // A connection that is reset is tried again, and then nobody answers.
            assertThatThrownBy(() -> TcpStore.connect("127.0.0.1", other.getLocalPort(), SHORT))
                    .isInstanceOf(StoreException.class);
            join(closing);
        }
    }

    @Test
    void serverThatDoesNotAnswerIsGivenUp() throws Exception {
        try (ServerSocket silent = new ServerSocket(0)) {
            assertThatThrownBy(() -> TcpStore.connect("127.0.0.1", silent.getLocalPort(), SHORT))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("127.0.0.1:" + silent.getLocalPort());
        }
    }

    @Test
    void wrongAddressIsRefused() {
        assertThatThrownBy(() -> TcpStore.connect(null, 1, LONG))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> TcpStore.connect("h", 0, LONG)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> TcpStore.connect("h", 65536, LONG))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> TcpStoreServer.bind(null)).isInstanceOf(UsageException.class);
    }

    @Test
    void portInUseIsNamed() {
        assertThatThrownBy(
                        () ->
                                TcpStoreServer.bind(
                                        new InetSocketAddress("127.0.0.1", server.port())))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("127.0.0.1:" + server.port())
                .hasMessageContaining("in use");
        assertThatThrownBy(() -> TcpStoreServer.bind(new InetSocketAddress("no.invalid", 0)))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("no.invalid");
    }

    @Test
    void serverAdoptsAListeningChannel() throws Exception {
        ServerSocketChannel channel = ServerSocketChannel.open().bind(ANY_PORT);
        int port = channel.socket().getLocalPort();
        try (TcpStoreServer adopting = TcpStoreServer.adopt(channel);
                TcpStore client = TcpStore.connect("127.0.0.1", port, LONG)) {
            assertThat(adopting.port()).isEqualTo(port);
            assertThat(client.add("n", 2)).isEqualTo(2);
        }
        assertThat(channel.isOpen()).isFalse();
        assertThatThrownBy(() -> TcpStoreServer.adopt(channel)).isInstanceOf(UsageException.class);
        try (ServerSocketChannel unbound = ServerSocketChannel.open()) {
            assertThatThrownBy(() -> TcpStoreServer.adopt(unbound))
                    .isInstanceOf(UsageException.class);
        }
    }

    /** As PyTorch writes it in a URL. */
    @Test
    void anIpv6AddressMayHaveBrackets() {
        for (String host : List.of("::1", "[::1]")) {
            assertThatThrownBy(() -> TcpStore.connect(host, 1, expires(Duration.ofMillis(1))))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("the store at [::1]:1 ");
        }
    }

    @Test
    void textNamesHostAndPort() {
        assertThat(store).hasToString("TcpStore(127.0.0.1:" + server.port() + ")");
        assertThat(server.toString()).endsWith(":" + server.port() + ")");
    }

    @Test
    void theServerCountsWhatItWasAsked() {
        try (TcpStoreServer server =
                        TcpStoreServer.bind(
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                TcpStore store = TcpStore.connect("127.0.0.1", server.port(), LONG)) {
            long handshake = server.requests();
            assertThat(handshake).isEqualTo(2);
            for (int i = 0; i < 10; i++) {
                store.set("k" + i, new byte[1]);
            }
            store.add("answered", 1);
            assertThat(store.add("answered", 1)).isEqualTo(2);
            assertThat(server.requests()).isBetween(handshake + 11, handshake + 12);
        }
    }
}

package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.StoreException;
import org.jccl.UsageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A server that serves only those who know its secret. */
final class StoreSecretTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));
    private static final byte[] SECRET = StoreContract.bytes("correct horse battery staple");
    private static final InetSocketAddress ANY_PORT =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private final TcpStoreServer server = TcpStoreServer.bind(ANY_PORT, SECRET);

    @AfterEach
    void closeServer() {
        server.close();
    }

    @Test
    void servesWhoKnowsTheSecret() {
        try (TcpStore store = TcpStore.connect("127.0.0.1", server.port(), LONG, SECRET);
                TcpStore second = store.duplicate(LONG)) {
            store.add("n", 1);
            assertThat(second.add("n", 1)).isEqualTo(2);
        }
    }

    @Test
    void refusesWhoDoesNot() {
        assertThatThrownBy(() -> TcpStore.connect("127.0.0.1", server.port(), LONG))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("requires a secret");
        assertThatThrownBy(
                        () ->
                                TcpStore.connect(
                                        "127.0.0.1",
                                        server.port(),
                                        LONG,
                                        StoreContract.bytes("wrong")))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("a different secret or none");
    }

    /** Before anything of it is kept: keys and values without end could fill the memory. */
    @ParameterizedTest
    @ValueSource(strings = {"0b", "01", "0a", "12"})
    void takesNothingButTheHandshakeFromWhoProvedNothing(String opcode) throws Exception {
        try (RawClient stranger = RawClient.validated(server)) {
            stranger.socket.setSoTimeout(20_000); // before the time for handshakes is over
            stranger.send(opcode).expectClosed();
        }
    }

    @Test
    void clientWithASecretRefusesAServerWithout() {
        try (TcpStoreServer open = TcpStoreServer.bind(ANY_PORT)) {
            assertThatThrownBy(() -> TcpStore.connect("127.0.0.1", open.port(), LONG, SECRET))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("a different secret or none");
        }
    }

    @Test
    void clientRefusesAnImpostor() throws Exception {
        try (ServerSocket impostor = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            CompletableFuture<Void> played =
                    CompletableFuture.runAsync(
                            () -> {
                                try (Socket client = impostor.accept()) {
                                    client.getInputStream().readNBytes(6);
                                    client.getOutputStream().write(new byte[32]);
                                    client.getInputStream().readNBytes(65);
                                    client.getOutputStream().write(new byte[32]);
                                    client.getInputStream().read();
                                } catch (IOException e) {
                                    throw new AssertionError(e);
                                }
                            },
                            task -> new Thread(task).start());
            int port = impostor.getLocalPort();
            assertThatThrownBy(() -> TcpStore.connect("127.0.0.1", port, LONG, SECRET))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("does not know the secret");
            played.get(LONG.toSeconds(), TimeUnit.SECONDS);
        }
    }

    @Test
    void nothingIsServedBeforeTheProof() throws IOException {
        for (String trace :
                new String[] {
                    "0d 01 00x3", "01 02 00x7 '/k' 00x8", "a1 00x64", RawClient.VALIDATE,
                }) {
            try (RawClient stranger = RawClient.validated(server)) {
                stranger.send(trace).expectClosed();
            }
        }
        try (RawClient stranger = RawClient.validated(server).send("a0")) {
            assertThat(stranger.socket.getInputStream().readNBytes(32)).hasSize(32);
            stranger.send("a1 00x64").expectClosed();
        }
    }

    @Test
    void theSecretIsNotOnTheWireAndNoProofRepeats() throws Exception {
        String first = record();
        String second = record();
        assertThat(first).doesNotContain("correct horse").isNotEqualTo(second);
    }

    /** What a client sends through a relay while it connects. */
    private String record() throws Exception {
        try (ServerSocket relay = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            CompletableFuture<String> sent =
                    CompletableFuture.supplyAsync(
                            () -> {
                                try (Socket client = relay.accept();
                                        RawClient upstream = new RawClient(server)) {
                                    return relay(client, upstream.socket);
                                } catch (IOException e) {
                                    throw new AssertionError(e);
                                }
                            },
                            task -> new Thread(task).start());
            TcpStore.connect("127.0.0.1", relay.getLocalPort(), LONG, SECRET).close();
            return sent.get(LONG.toSeconds(), TimeUnit.SECONDS);
        }
    }

    private static String relay(Socket client, Socket server) throws IOException {
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        for (int[] turn : new int[][] {{6, 32}, {65, 32}, {5, 4}}) {
            byte[] up = client.getInputStream().readNBytes(turn[0]);
            sent.writeBytes(up);
            server.getOutputStream().write(up);
            client.getOutputStream().write(server.getInputStream().readNBytes(turn[1]));
        }
        return sent.toString(StandardCharsets.ISO_8859_1);
    }

    @Test
    void anEmptySecretIsRefused() {
        assertThatThrownBy(() -> TcpStoreServer.bind(ANY_PORT, new byte[0]))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> TcpStore.connect("127.0.0.1", 1, LONG, new byte[0]))
                .isInstanceOf(UsageException.class);
    }
}

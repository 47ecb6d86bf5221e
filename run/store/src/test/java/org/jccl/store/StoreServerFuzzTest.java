package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The whole server: whatever some clients send, each of them is answered or dropped, and others are
 * served. The input is a list of pieces: a byte with a client's number and a length, and as many
 * bytes as that.
 */
class StoreServerFuzzTest {

    private static final InetSocketAddress ANY_PORT =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private static final Duration PATIENCE = enough(Duration.ofSeconds(60));
    private static final int CLIENTS = 4;
    private static final int MAX_BYTES = 2048;

    @FuzzTest
    void servesTheOthers(byte[] bytes) throws IOException {
        Map<Integer, Socket> clients = new HashMap<>();
        try (TcpStoreServer server = TcpStoreServer.bind(ANY_PORT)) {
            try (TcpStore good = TcpStore.connect("127.0.0.1", server.port(), PATIENCE)) {
                ByteBuffer input = ByteBuffer.wrap(bytes, 0, Math.min(bytes.length, MAX_BYTES));
                while (input.hasRemaining()) {
                    int head = input.get() & 0xFF;
                    byte[] piece = new byte[Math.min(head / CLIENTS, input.remaining())];
                    input.get(piece);
                    Socket client = clients.get(head % CLIENTS);
                    if (client == null) {
                        client = connect(server);
                        clients.put(head % CLIENTS, client);
                    }
                    send(client, piece);
                    // The server has seen the piece, so that the next one comes after it.
                    good.check(List.of());
                }
                for (Socket client : clients.values()) {
                    awaitEnd(client);
                }
                good.set("still served", bytes);
                assertThat(good.get("still served")).isEqualTo(bytes);
            }
            assertThat(server.awaitNoClients(PATIENCE)).isTrue();
        } finally {
            for (Socket client : clients.values()) {
                client.close();
            }
        }
    }

    private static Socket connect(TcpStoreServer server) throws IOException {
        Socket client = new RawClient(server).send(RawClient.VALIDATE).socket;
        client.setSoTimeout((int) PATIENCE.toMillis());
        return client;
    }

    private static void send(Socket client, byte[] piece) {
        try {
            client.getOutputStream().write(piece);
        } catch (IOException e) {
            // The server has dropped it.
            assertThat(e).isInstanceOf(SocketException.class);
        }
    }

    /** Says goodbye; a server that answers for ever or never would be a timeout here. */
    private static void awaitEnd(Socket client) throws IOException {
        try {
            client.shutdownOutput();
            client.getInputStream().skip(Long.MAX_VALUE);
            assertThat(client.getInputStream().read()).isEqualTo(-1);
        } catch (SocketException e) {
            // A reset: the server closed with bytes of ours unread.
            assertThat(e.getMessage()).containsAnyOf("reset", "pipe", "not connected");
        }
    }
}

package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.time.Duration;
import java.util.Arrays;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/**
 * The handshake with a secret: nothing but the right bytes in the right order gets past either
 * side. Where the input is long enough it is also what is different in a right proof.
 */
class StoreHandshakeFuzzTest {

    private static final Duration PATIENCE = enough(Duration.ofSeconds(60));
    private static final byte[] SECRET = {'s', 'e', 'c', 'r', 'e', 't'};
    private static final byte[] PING = WireBytes.of("0d 01 02 03 04");

    private static TcpStoreServer server;
    private static PlayedServer impostor;

    @BeforeAll
    static void startServers() throws IOException {
        server =
                TcpStoreServer.bind(
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), SECRET);
        impostor = new PlayedServer();
    }

    @AfterAll
    static void closeServers() {
        server.close();
        impostor.close();
    }

    @FuzzTest
    void letsNobodyIn(byte[] bytes) throws IOException {
        try (RawClient stranger = new RawClient(server)) {
            // At most the server's random number, which is sent before any proof.
            assertThat(answers(stranger, bytes).length).isIn(0, SharedSecret.NONCE_BYTES);
        }
        if (bytes.length >= SharedSecret.PROOF_BYTES) {
            proveWith(bytes);
        }
        impostor.play(bytes);
        assertThatThrownBy(
                        () ->
                                TcpStore.connect("127.0.0.1", impostor.port(), PATIENCE, SECRET)
                                        .close())
                .isInstanceOf(StoreException.class)
                .isNotInstanceOf(StoreTimeoutException.class);
    }

    /** A client that knows the secret, but whose proof is changed on the way. */
    private static void proveWith(byte[] change) throws IOException {
        try (RawClient client = RawClient.validated(server).send("a0")) {
            DataInputStream in = new DataInputStream(client.socket.getInputStream());
            byte[] nonce = in.readNBytes(SharedSecret.NONCE_BYTES);
            byte[] own = SharedSecret.newNonce();
            byte[] proof = new SharedSecret(SECRET).clientProof(nonce, own);
            boolean changed = false;
            for (int i = 0; i < proof.length; i++) {
                proof[i] ^= change[i];
                changed |= change[i] != 0;
            }
            byte[] rest = Arrays.copyOfRange(change, proof.length, change.length);
            client.send(new byte[] {Opcode.PROVE.number()}).send(own).send(proof);
            if (changed) {
                assertThat(answers(client, rest)).isEmpty();
            } else {
                client.send(PING);
                in.readNBytes(SharedSecret.PROOF_BYTES);
                assertThat(in.readNBytes(4)).isEqualTo(Arrays.copyOfRange(PING, 1, 5));
            }
        }
    }

    /** All that is answered to a client that sends this and then nothing more. */
    private static byte[] answers(RawClient client, byte[] bytes) throws IOException {
        client.socket.setSoTimeout((int) PATIENCE.toMillis());
        try {
            client.send(bytes).socket.shutdownOutput();
            return client.socket.getInputStream().readAllBytes();
        } catch (SocketException | EOFException e) {
            // Dropped before it had sent all.
            return new byte[0];
        }
    }
}

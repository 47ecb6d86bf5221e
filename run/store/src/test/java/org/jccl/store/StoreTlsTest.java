package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.NEVER;
import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.AbstractThrowableAssert;
import org.jccl.StoreException;
import org.jccl.TlsCredentials;
import org.jccl.testing.Certificates;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A store with TLS, and who is rejected. */
@Timeout(120)
@Tag("all")
final class StoreTlsTest {

    /** Every rejection must come long before this. */
    private static final Duration LONG = NEVER;

    private static final InetSocketAddress ANY_PORT =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    @TempDir private static Path folder;
    private static TlsCredentials one;
    private static TlsCredentials two;
    private static TlsCredentials expired;
    private static TlsCredentials stranger;
    private static TlsCredentials shared;
    private static TlsCredentials sharedExpired;

    @BeforeAll
    static void makeCertificates() throws Exception {
        Certificates made =
                new Certificates(folder)
                        .authority("job")
                        .signed("one", "job")
                        .rsa("two", "job")
                        .expired("expired", "job")
                        .authority("other")
                        .signed("stranger", "other")
                        .authority("shared")
                        .expiredAlone("shared-expired");
        one = made.credentials("one", "job");
        two = made.credentials("two", "job");
        expired = made.credentials("expired", "job");
        // It trusts the job, but the job does not trust it.
        stranger = made.credentials("stranger", "job");
        shared = made.credentials("shared", "shared", "shared-expired");
        sharedExpired = made.credentials("shared-expired", "shared", "shared-expired");
    }

    private static TcpStoreServer serve(TlsCredentials credentials) {
        return TcpStoreServer.bind(ANY_PORT, Map.of("first", new byte[] {1}), credentials);
    }

    private static TcpStore connect(TcpStoreServer server, TlsCredentials credentials) {
        return TcpStore.connect("127.0.0.1", server.port(), LONG, credentials);
    }

    @Test
    void servesCertificatesOfTheSameAuthority() {
        try (TcpStoreServer server = serve(one);
                TcpStore store = connect(server, two);
                TcpStore second = store.duplicate(LONG)) {
            assertThat(store.isEncrypted()).isTrue();
            store.add("n", 1);
            assertThat(second.add("n", 1)).isEqualTo(2);
            assertThat(second.get("first")).containsExactly(1);
        }
    }

    @Test
    void aCertificateThatIsItsOwnAuthorityServesAll() {
        try (TcpStoreServer server = serve(shared);
                TcpStore store = connect(server, shared)) {
            assertThat(store.add("n", 1)).isEqualTo(1);
        }
    }

    /** Many records, and more bytes than the sockets buffer in either direction. */
    @Test
    void movesLargeValues() {
        byte[] value = new byte[StoreArguments.MAX_VALUE_BYTES - 1];
        for (int i = 0; i < value.length; i++) {
            value[i] = (byte) (i * 31 ^ i >> 8);
        }
        try (TcpStoreServer server = serve(one);
                TcpStore store = connect(server, two)) {
            store.multiSet(List.of("a", "b"), List.of(value, value));
            List<byte[]> got = store.multiGet(List.of("a", "b", "a"));
            assertThat(got).hasSize(3).allMatch(each -> java.util.Arrays.equals(each, value));
        }
    }

    @Test
    void aWaitOfOneClientIsEndedByAnother() throws Exception {
        try (TcpStoreServer server = serve(one);
                TcpStore store = connect(server, two);
                TcpStore second = store.duplicate(LONG)) {
            CompletableFuture<byte[]> waited =
                    CompletableFuture.supplyAsync(() -> store.get("later"));
            assertThat(second.check(List.of("later"))).isFalse();
            second.set("later", new byte[] {7});
            assertThat(waited.get()).containsExactly(7);
        }
    }

    @Test
    void manyClientsConnectAtOnce() {
        try (TcpStoreServer server = serve(one)) {
            List<CompletableFuture<TcpStore>> clients = new ArrayList<>();
            for (int i = 0; i < 32; i++) {
                clients.add(CompletableFuture.supplyAsync(() -> connect(server, two)));
            }
            long sum = 0;
            for (CompletableFuture<TcpStore> client : clients) {
                try (TcpStore store = client.join()) {
                    sum = store.add("n", 1);
                }
            }
            assertThat(sum).isEqualTo(clients.size());
        }
    }

    private static AbstractThrowableAssert<?, ?> rejected(
            TlsCredentials server, TlsCredentials client) {
        try (TcpStoreServer served = serve(server)) {
            AbstractThrowableAssert<?, ?> thrown =
                    assertThatThrownBy(() -> connect(served, client))
                            .isInstanceOf(StoreException.class)
                            .hasMessageContaining("TLS handshake");
            // It still serves others.
            try (TcpStore good = connect(served, server)) {
                good.add("n", 1);
            } catch (StoreException e) {
                assertThat(server).isIn(expired, stranger, sharedExpired);
            }
            return thrown;
        }
    }

    @Test
    void rejectsAnExpiredCertificateOfAClient() {
        rejected(one, expired).hasMessageContaining("certificate");
    }

    @Test
    void rejectsAnExpiredCertificateOfTheServer() {
        rejected(expired, one).hasMessageContaining("the certificate of CN=expired is valid from");
    }

    @Test
    void rejectsAnExpiredCertificateThatIsItsOwnAuthority() {
        rejected(shared, sharedExpired).hasMessageContaining("certificate");
        rejected(sharedExpired, shared)
                .hasMessageContaining("the certificate of CN=shared-expired is valid from");
    }

    @Test
    void rejectsAClientOfAnotherAuthority() {
        rejected(one, stranger).hasMessageContaining("certificate");
    }

    @Test
    void rejectsAServerOfAnotherAuthority() {
        rejected(stranger, one).hasMessageContaining("unable to find valid certification path");
    }

    @Test
    void aPlainClientIsToldThatTheServerRequiresTls() {
        try (TcpStoreServer server = serve(one)) {
            assertThatThrownBy(() -> TcpStore.connect("127.0.0.1", server.port(), LONG))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("requires TLS");
        }
    }

    /** A server answers a PING with the same number, which must not look like an alert. */
    @Test
    void noProcessNumberLooksLikeAnAlert() {
        assertThat(ClientConnection.nonce(788)).isEqualTo(788);
        for (long pid : new long[] {789, 789 + 65536, 789 + 3 * 65536}) {
            assertThat(ClientConnection.nonce(pid) & 0xffff).isNotEqualTo(0x0315);
        }
    }

    @Test
    void aClientDoesNotUseAPlainServer() {
        try (TcpStoreServer server = TcpStoreServer.bind(ANY_PORT)) {
            assertThatThrownBy(() -> connect(server, one))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("closed the connection in the TLS handshake");
        }
    }

    /** Also one that takes the connection and stays silent. */
    @Test
    void theHandshakeHasADeadline() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            assertThatThrownBy(
                            () ->
                                    TcpStore.connect(
                                            "127.0.0.1",
                                            silent.getLocalPort(),
                                            expires(Duration.ofSeconds(1)),
                                            one))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("no answer in time");
        }
    }

    @Test
    void aSilentClientBlocksNobody() throws IOException {
        try (TcpStoreServer server = serve(one);
                Socket silent = new Socket(InetAddress.getLoopbackAddress(), server.port());
                TcpStore store = connect(server, two)) {
            silent.getOutputStream().write(0x16); // the first byte of a handshake
            assertThat(store.add("n", 1)).isEqualTo(1);
        }
    }

    /** The bytes on the wire contain neither keys nor values. */
    @Test
    void whatIsSentCannotBeRead() throws Exception {
        try (TcpStoreServer server = serve(one);
                Tap tap = new Tap(server.port());
                TcpStore store = TcpStore.connect("127.0.0.1", tap.port(), LONG, two)) {
            store.set(
                    "a-secret-key",
                    "a secret value".getBytes(java.nio.charset.StandardCharsets.UTF_8));
            assertThat(store.get("a-secret-key")).hasSize(14);
            assertThat(tap.heard()).hasSizeGreaterThan(500).doesNotContain("secret");
        }
    }
}

package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The client byte for byte, against a scripted server with PyTorch 2.13's answers. */
final class ClientWireTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));

    /** What the scripted server does on one connection. */
    private interface Script {
        void play(Peer client) throws IOException;
    }

    /** The scripted server's end of a connection. */
    private record Peer(Socket socket) {

        Peer expect(String trace) throws IOException {
            byte[] expected = WireBytes.of(trace);
            byte[] got = socket.getInputStream().readNBytes(expected.length);
            assertThat(HexFormat.of().formatHex(got)).isEqualTo(HexFormat.of().formatHex(expected));
            return this;
        }

        Peer answer(String trace) throws IOException {
            socket.getOutputStream().write(WireBytes.of(trace));
            return this;
        }

        /** VALIDATE and PING must come in one segment, so they are there in one read. */
        Peer handshake() throws IOException {
            byte[] hello = new byte[64];
            int count = socket.getInputStream().read(hello);
            byte[] pid =
                    ByteBuffer.allocate(Integer.BYTES)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .putInt(ClientConnection.nonce(ProcessHandle.current().pid()))
                            .array();
            assertThat(HexFormat.of().formatHex(hello, 0, count))
                    .isEqualTo("00cef7853c" + "0d" + HexFormat.of().formatHex(pid));
            socket.getOutputStream().write(pid);
            return this;
        }
    }

    private ServerSocket listener;

    @BeforeEach
    void listen() throws IOException {
        listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    @AfterEach
    void closeListener() throws IOException {
        listener.close();
    }

    /** Plays one script a connection, in the order in which they are opened. */
    private CompletableFuture<Void> serve(Script... scripts) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                for (Script script : scripts) {
                                    try (Socket socket = listener.accept()) {
                                        script.play(new Peer(socket));
                                    }
                                }
                                done.complete(null);
                            } catch (IOException | AssertionError e) {
                                done.completeExceptionally(e);
                            }
                        });
        thread.setDaemon(true);
        thread.start();
        return done;
    }

    private TcpStore connect() {
        return TcpStore.connect("127.0.0.1", listener.getLocalPort(), LONG);
    }

    private static void join(CompletableFuture<Void> done) throws Exception {
        try {
            done.get(LONG.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new AssertionError("the scripted server got something else", e.getCause());
        }
    }

    @Test
    void sendsWhatPyTorchSends() throws Exception {
        CompletableFuture<Void> done =
                serve(
                        client -> {
                            client.handshake();
                            client.expect("04 05 00x7 'init/' 01 00x7").answer("01 00x7");
                            client.expect("01 02 00x7 '/k' 02 00x7 'v1'");
                            client.expect("01 02 00x7 '/e' 00x8");
                            client.expect("04 04 00x7 '/cnt' 05 00x7").answer("05 00x7");
                            client.expect("04 04 00x7 '/cnt' f9 ffx7").answer("fe ffx7");
                            client.expect("06 01 00x7 02 00x7 '/k'").answer("00");
                            client.expect("03 02 00x7 '/k'").answer("02 00x7 'v1'");
                            client.expect("05 02 00x7 02 00x7 '/k' 05 00x7 '/nope'").answer("01");
                            client.expect("02 03 00x7 '/cs' 00x8 05 00x7 'first'")
                                    .answer("05 00x7 'first'");
                            client.expect("06 03 00x7 02 00x7 '/k' 04 00x7 '/cnt' 03 00x7 '/cs'")
                                    .answer("00");
                            client.expect("07").answer("06 00x7");
                            client.expect("08 02 00x7 '/k'").answer("01 00x7");
                            client.expect("08 02 00x7 '/k'").answer("00x8");
                            client.expect("09 03 00x7 '/ap' 02 00x7 'ab'");
                            client.expect(
                                    "0b 02 00x7 03 00x7 '/m1' 01 00x7 'A' 03 00x7 '/m2' 02 00x7 'BB'");
                            client.expect("10 02 00x7 '/q'").answer("02 00x7");
                            client.expect("06 02 00x7 03 00x7 '/m1' 03 00x7 '/m2'").answer("00");
                            client.expect("0a 02 00x7 03 00x7 '/m1' 03 00x7 '/m2'")
                                    .answer("01 00x7 'A' 02 00x7 'BB'");
                            client.expect("06 01 00x7 02 00x7 '/q'").answer("00");
                            client.expect("0f 02 00x7 '/q'").answer("02 00x7 02 00x7 'x1'");
                            client.expect("0f 02 00x7 '/q'").answer("00x8");
                            client.expect("11")
                                    .answer("03 00x7 03 00x7 '/m2' 05 00x7 'init/' 02 00x7 '/k'");
                            client.expect("12 02 00x7 '/b' 01 00x7").answer("00");
                            client.expect("01 0b 00x7 '/fix//pre/k' 01 00x7 'v'");
                            assertThat(client.socket().getInputStream().read()).isEqualTo(-1);
                        });
        try (TcpStore store = connect()) {
            assertThat(store.joinWorkers()).isEqualTo(1);
            store.set("k", StoreContract.bytes("v1"));
            store.set("e", new byte[0]);
            assertThat(store.add("cnt", 5)).isEqualTo(5);
            assertThat(store.add("cnt", -7)).isEqualTo(-2);
            assertThat(store.get("k")).isEqualTo(StoreContract.bytes("v1"));
            assertThat(store.check(List.of("k", "nope"))).isFalse();
            assertThat(store.compareSet("cs", new byte[0], StoreContract.bytes("first")))
                    .isEqualTo(StoreContract.bytes("first"));
            store.await(List.of("k", "cnt", "cs"));
            assertThat(store.keyCount()).isEqualTo(6);
            assertThat(store.deleteKey("k")).isTrue();
            assertThat(store.deleteKey("k")).isFalse();
            store.append("ap", StoreContract.bytes("ab"));
            store.multiSet(
                    List.of("m1", "m2"),
                    List.of(StoreContract.bytes("A"), StoreContract.bytes("BB")));
            assertThat(store.queueLength("q")).isEqualTo(2);
            assertThat(store.multiGet(List.of("m1", "m2")))
                    .containsExactly(StoreContract.bytes("A"), StoreContract.bytes("BB"));
            assertThat(store.queuePop("q")).isEqualTo(StoreContract.bytes("x1"));
            assertThat(store.queuePoll("q")).isEmpty();
            assertThat(store.listKeys()).containsExactly("m2", "k");
            store.barrier("b", 1, LONG);
            new PrefixStore("pre", new PrefixStore("fix/", store))
                    .set("k", StoreContract.bytes("v"));
        }
        join(done);
    }

    @Test
    void makesSureOfEarlierRequestsBeforeItWaits() throws Exception {
        CompletableFuture<Void> done =
                serve(
                        client ->
                                client.handshake()
                                        .expect("01 02 00x7 '/k' 00x8 0d 00x4")
                                        .expect("06 01 00x7 02 00x7 '/k'")
                                        .answer("00x4 00")
                                        .expect("06 01 00x7 02 00x7 '/k'")
                                        .answer("00"));
        try (TcpStore store = connect()) {
            store.set("k", new byte[0]);
            store.await(List.of("k"));
            store.await(List.of("k"));
        }
        join(done);
    }

    @Test
    void cancelsAWaitThatTimesOut() throws Exception {
        CompletableFuture<Void> done =
                serve(
                        client ->
                                client.handshake()
                                        .expect("06 01 00x7 08 00x7 '/missing' 0c")
                                        .answer("01")
                                        .expect("05 01 00x7 08 00x7 '/missing'")
                                        .answer("01")
                                        .expect("12 03 00x7 '/b2' 02 00x7 0c")
                                        .answer("01")
                                        .expect("04 03 00x7 '/b2' 00x8")
                                        .answer("01 00x7"));
        try (TcpStore store = connect()) {
            assertThatThrownBy(
                            () -> store.await(List.of("missing"), expires(Duration.ofMillis(10))))
                    .isInstanceOf(StoreTimeoutException.class);
            assertThatThrownBy(() -> store.barrier("b2", 2, expires(Duration.ofMillis(10))))
                    .isInstanceOf(StoreTimeoutException.class)
                    .hasMessageContaining("1 of 2");
        }
        join(done);
    }

    @Test
    void releaseThatCrossesTheCancelCounts() throws Exception {
        CompletableFuture<Void> done =
                serve(
                        client ->
                                client.handshake()
                                        .expect("06 01 00x7 05 00x7 '/late' 0c")
                                        .answer("00 01")
                                        .expect("07")
                                        .answer("09 00x7"));
        try (TcpStore store = connect()) {
            store.await(List.of("late"), expires(Duration.ofMillis(10)));
            assertThat(store.keyCount()).isEqualTo(9);
        }
        join(done);
    }

    @Test
    void answersThatMakeNoSenseAreFailures() throws Exception {
        CompletableFuture<Void> done =
                serve(
                        client -> client.handshake().expect("06 01 00x7 02 00x7 '/k'").answer("07"),
                        client -> client.handshake().expect("11").answer("01 00x7 ffx8"));
        try (TcpStore store = connect()) {
            assertThatThrownBy(() -> store.await(List.of("k")))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("answered 7");
            assertThatThrownBy(store::listKeys)
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("18446744073709551615 bytes");
        }
        join(done);
    }

    /** What is read next would be taken for the answer to another question. */
    @Test
    void refusesAnAnswerThatNobodyAskedFor() throws Exception {
        CompletableFuture<Void> done =
                serve(
                        client -> {
                            client.handshake().expect("07").answer("09 00x7 05 00x7");
                            // Nothing more is asked on this connection.
                            assertThat(client.socket().getInputStream().read()).isEqualTo(-1);
                        },
                        client -> client.handshake().expect("07").answer("03 00x7"));
        try (TcpStore store = connect()) {
            assertThat(store.keyCount()).isEqualTo(9);
            assertThatThrownBy(store::keyCount)
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("8 unexpected bytes");
            assertThat(store.keyCount()).isEqualTo(3);
        }
        join(done);
    }

    @Test
    void refusesAServerThatAnswersThePingWrongly() throws Exception {
        CompletableFuture<Void> done =
                serve(client -> client.expect("00 ce f7 85 3c 0d").answer("'HTTP'"));
        assertThatThrownBy(this::connect)
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("not a TCPStore server");
        join(done);
    }

    @Test
    void refusesTooLargeRequestsBeforeSending() throws Exception {
        CompletableFuture<Void> done =
                serve(client -> client.handshake().expect("07").answer("00x8"));
        try (TcpStore store = connect()) {
            byte[] value = new byte[StoreArguments.MAX_VALUE_BYTES];
            assertThatThrownBy(
                            () ->
                                    store.multiSet(
                                            java.util.Collections.nCopies(40, "k"),
                                            java.util.Collections.nCopies(40, value)))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("several calls");
            assertThatThrownBy(() -> store.check(java.util.Collections.nCopies(131_073, "k")))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("131073");
            assertThat(store.keyCount()).isZero();
        }
        join(done);
    }
}

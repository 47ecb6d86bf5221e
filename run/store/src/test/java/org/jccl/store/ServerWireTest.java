package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The server byte for byte, against traces of PyTorch 2.13, and against clients that misbehave. */
final class ServerWireTest {

    private static final InetSocketAddress ANY_PORT =
            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private final TcpStoreServer server = TcpStoreServer.bind(ANY_PORT);

    @AfterEach
    void closeServer() {
        server.close();
    }

    @Test
    void answersAsPyTorchDoes() throws IOException {
        try (RawClient client = new RawClient(server)) {
            client.send("00 ce f7 85 3c 0d bf 2e 00 00").expect("bf 2e 00 00");
            client.send("04 05 00x7 'init/' 01 00x7").expect("01 00x7");
            client.send("01 02 00x7 '/k' 02 00x7 'v1'").send("01 02 00x7 '/e' 00x8");
            client.send("06 01 00x7 02 00x7 '/k'").expect("00");
            client.send("03 02 00x7 '/k'").expect("02 00x7 'v1'");
            client.send("03 08 00x7 '/missing'").expect("00x8");
            client.send("04 04 00x7 '/cnt' 05 00x7").expect("05 00x7");
            client.send("04 04 00x7 '/cnt' f9 ffx7").expect("fe ffx7");
            client.send("03 04 00x7 '/cnt'").expect("02 00x7 '-2'");
            client.send("05 01 00x7 02 00x7 '/k'").expect("00");
            client.send("05 02 00x7 02 00x7 '/k' 05 00x7 '/nope'").expect("01");
            client.send("05 00x8").expect("00");
            client.send("02 03 00x7 '/cs' 00x8 05 00x7 'first'").expect("05 00x7 'first'");
            client.send("02 03 00x7 '/cs' 05 00x7 'first' 06 00x7 'second'")
                    .expect("06 00x7 'second'");
            client.send("02 03 00x7 '/cs' 03 00x7 'bad' 05 00x7 'third'")
                    .expect("06 00x7 'second'");
            client.send("02 04 00x7 '/cs2' 03 00x7 'bad' 01 00x7 'x'").expect("03 00x7 'bad'");
            client.send("06 03 00x7 02 00x7 '/k' 04 00x7 '/cnt' 03 00x7 '/cs'").expect("00");
            client.send("06 00x8").expect("00");
            client.send("06 01 00x7 08 00x7 '/missing'").send("0c").expect("01");
            client.send("07").expect("05 00x7");
            client.send("08 02 00x7 '/k'").expect("01 00x7");
            client.send("08 02 00x7 '/k'").expect("00x8");
            client.send("09 03 00x7 '/ap' 02 00x7 'ab'").send("09 03 00x7 '/ap' 02 00x7 'cd'");
            client.send("0b 02 00x7 03 00x7 '/m1' 01 00x7 'A' 03 00x7 '/m2' 02 00x7 'BB'");
            client.send("0a 04 00x7 03 00x7 '/m1' 03 00x7 '/m2' 03 00x7 '/ap' 03 00x7 '/no'")
                    .expect("01 00x7 'A' 02 00x7 'BB' 04 00x7 'abcd' 00x8");
            client.send("0e 02 00x7 '/q' 02 00x7 'x1'").send("0e 02 00x7 '/q' 00x8");
            client.send("10 02 00x7 '/q'").expect("02 00x7");
            client.send("06 01 00x7 02 00x7 '/q'").expect("00");
            client.send("0f 02 00x7 '/q'").expect("02 00x7 02 00x7 'x1'");
            client.send("0f 02 00x7 '/q'").expect("01 00x7 00x8");
            client.send("0f 02 00x7 '/q'").expect("00x8");
            client.send("12 02 00x7 '/b' 01 00x7").expect("00");
            client.send("12 02 00x7 '/b' 01 00x7").expect("00");
            client.send("12 03 00x7 '/b2' 02 00x7").send("0c").expect("01");
            client.send("04 03 00x7 '/b2' 00x8").expect("01 00x7");
        }
    }

    @Test
    void listsAllKeys() throws IOException {
        try (RawClient client = RawClient.validated(server)) {
            client.send("11").expect("00x8");
            client.send("01 02 00x7 '/k' 00x8").send("11").expect("01 00x7 02 00x7 '/k'");
        }
    }

    @Test
    void takesRequestsInAnyPieces() throws IOException {
        try (RawClient client = new RawClient(server)) {
            byte[] requests =
                    WireBytes.of(
                            "00 ce f7 85 3c 0d 01 02 03 04 01 02 00x7 '/k' 02 00x7 'v1'"
                                    + " 03 02 00x7 '/k'");
            for (byte each : requests) {
                client.send(new byte[] {each});
            }
            client.expect("01 02 03 04 02 00x7 'v1'");
        }
    }

    @Test
    void waitEndsOnlyWhenAllKeysExistTogether() throws IOException {
        try (RawClient waiting = RawClient.validated(server);
                RawClient other = RawClient.validated(server)) {
            waiting.send("06 02 00x7 02 00x7 '/a' 02 00x7 '/b' 0d 01 00x3").expect("01 00x3");
            other.send("01 02 00x7 '/a' 00x8 08 02 00x7 '/a'").expect("01 00x7");
            other.send("01 02 00x7 '/b' 00x8 07").expect("01 00x7");
            waiting.send("0d 02 00x3").expect("02 00x3");
            other.send("01 02 00x7 '/a' 00x8");
            waiting.expect("00");
        }
    }

    @Test
    void cancelledWaitIsForgotten() throws IOException {
        try (RawClient waiting = RawClient.validated(server);
                RawClient other = RawClient.validated(server)) {
            waiting.send("06 01 00x7 02 00x7 '/a' 0c").expect("01");
            waiting.send("12 02 00x7 '/c' 02 00x7 0c").expect("01");
            waiting.send("06 01 00x7 02 00x7 '/b' 0d 01 00x3").expect("01 00x3");
            other.send("0e 02 00x7 '/a' 00x8 12 02 00x7 '/c' 02 00x7").expect("00");
            waiting.send("0d 02 00x3").expect("02 00x3");
            other.send("01 02 00x7 '/b' 00x8");
            waiting.expect("00");
        }
    }

    @Test
    void waitsOfClosedClientsAreForgotten() throws IOException {
        try (RawClient other = RawClient.validated(server)) {
            try (RawClient waiting = RawClient.validated(server)) {
                waiting.send("06 01 00x7 02 00x7 '/a' 0d 01 00x3").expect("01 00x3");
            }
            other.send("01 02 00x7 '/a' 00x8 07").expect("01 00x7");
        }
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(
            strings = {
                // No VALIDATE.
                "0d 01 00x3",
                "01 02 00x7 '/k' 00x8",
                // Wrong magic, also its byte order.
                "00 cf f7 85 3c 0d 01 00x3",
                "00 3c 85 f7 ce",
                // VALIDATE twice.
                "00 ce f7 85 3c 00 ce f7 85 3c",
                // Opcodes that do not exist, and those for secrets without one.
                "00 ce f7 85 3c 13",
                "00 ce f7 85 3c ff",
                "00 ce f7 85 3c a0",
                "00 ce f7 85 3c a1 00x64",
                // Keys, values and lists beyond the limits: 8193, 8388609, 131073, and nonsense.
                "00 ce f7 85 3c 03 01 20 00x6",
                "00 ce f7 85 3c 03 ffx8",
                "00 ce f7 85 3c 03 ffx7 7f",
                "00 ce f7 85 3c 01 02 00x7 '/k' 01 00 80 00x5",
                "00 ce f7 85 3c 06 01 00 02 00x5",
                "00 ce f7 85 3c 0a ffx8",
                "00 ce f7 85 3c 0b 00x7 80",
                // Counting in a value that is no number, or too large a one.
                "00 ce f7 85 3c 01 02 00x7 '/k' 01 00x7 'x' 04 02 00x7 '/k' 01 00x7",
                "00 ce f7 85 3c 01 02 00x7 '/k' 14 00x7 '99999999999999999999' 04 02 00x7 '/k' 00x8",
                // A second wait while one is open.
                "00 ce f7 85 3c 06 01 00x7 02 00x7 '/a' 06 01 00x7 02 00x7 '/b'",
            })
    void closesTheConnectionOf(String trace) throws IOException {
        try (RawClient bad = new RawClient(server);
                TcpStore good = connect()) {
            bad.send(trace).expectClosed();
            assertThat(good.add("still served", 1)).isEqualTo(1);
        }
    }

    /** PyTorch's client sees the end of the connection and no reason. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "03 01 20 00x6 | 8193 bytes in a KEY announced, at most 8192 allowed",
                "01 02 00x7 '/k' 01 00 80 00x5 | 8388609 bytes in a VALUE announced, at most 8388608 allowed"
            })
    void warnsOfAKeyOrValueThatIsTooLong(String row) throws IOException {
        String[] parts = row.split(" \\| ");
        List<LogRecord> warnings = new CopyOnWriteArrayList<>();
        Handler handler =
                new Handler() {
                    @Override
                    public void publish(LogRecord log) {
                        if (log.getMessage().contains(server.toString())) {
                            warnings.add(log);
                        }
                    }

                    @Override
                    public void flush() {}

                    @Override
                    public void close() {}
                };
        Logger logger = Logger.getLogger(TcpStoreServer.class.getName());
        logger.addHandler(handler);
        try (RawClient bad = RawClient.validated(server)) {
            bad.send(parts[0]).expectClosed();
        } finally {
            logger.removeHandler(handler);
        }
        assertThat(warnings)
                .singleElement()
                .satisfies(
                        log -> {
                            assertThat(log.getLevel()).isEqualTo(Level.WARNING);
                            assertThat(log.getMessage()).contains(parts[1]);
                        });
    }

    @Test
    void announcingMuchTakesNoMemory() throws IOException {
        RawClient[] greedy = new RawClient[500];
        long before = usedMemory();
        for (int i = 0; i < greedy.length; i++) {
            greedy[i] = RawClient.validated(server).send("01 02 00x7 '/k' 00 00 80 00x5 'x'");
        }
        try (TcpStore good = connect()) {
            assertThat(good.add("served after all those", 1)).isEqualTo(1);
        }
        assertThat(usedMemory() - before).isLessThan(500L * StoreArguments.MAX_VALUE_BYTES / 10);
        for (RawClient each : greedy) {
            each.close();
        }
    }

    private static long usedMemory() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    @Test
    void clientThatNeverReadsIsClosed() throws IOException {
        try (TcpStore good = connect();
                RawClient deaf = RawClient.validated(server)) {
            good.set("k", new byte[1 << 20]);
            good.check(java.util.List.of());
            byte[] get = WireBytes.of("03 02 00x7 '/k'");
            ByteBuffer many = ByteBuffer.allocate(get.length * 1000);
            while (many.hasRemaining()) {
                many.put(get);
            }
            deaf.send(many.array());
            // One thread serves all clients in turn, so by then it has answered the deaf one too.
            for (int i = 0; i < 10; i++) {
                good.check(java.util.List.of());
            }
            long received = 0;
            byte[] part = new byte[1 << 16];
            try {
                for (int count = 0; count >= 0; count = deaf.socket.getInputStream().read(part)) {
                    received += count;
                }
            } catch (java.net.SocketException e) {
                assertThat(e).hasMessageContaining("reset");
            }
            assertThat(received).isLessThan(1000L << 20);
            assertThat(good.add("n", 1)).isEqualTo(1);
        }
    }

    @Test
    void clientThatNeverValidatesIsClosedInTheEnd() throws IOException {
        try (TcpStoreServer strict =
                        TcpStoreServer.start(
                                TcpStoreServer.listen(ANY_PORT),
                                null,
                                expires(Duration.ofMillis(50)));
                RawClient validated = RawClient.validated(strict).send("0d 01 00x3");
                RawClient silent = new RawClient(strict);
                RawClient half = new RawClient(strict)) {
            half.send("00 ce f7");
            silent.expectClosed();
            half.expectClosed();
            validated.expect("01 00x3").send("0d 02 00x3").expect("02 00x3");
        }
    }

    @Test
    void survivesGarbage(TestReporter reporter) throws IOException {
        long seed = System.nanoTime();
        reporter.publishEntry("seed", String.valueOf(seed));
        Random random = new Random(seed);
        try (TcpStore good = connect()) {
            for (int round = 0; round < 300; round++) {
                try (RawClient bad =
                        random.nextInt(4) == 0
                                ? new RawClient(server)
                                : RawClient.validated(server)) {
                    bad.send(garbage(random));
                } catch (java.net.SocketException e) {
                    // The server was faster to close than this client to send.
                    assertThat(e.getMessage()).as("seed %d", seed).containsAnyOf("reset", "pipe");
                }
                assertThat(good.add("n", 1)).as("seed %d", seed).isEqualTo(round + 1);
            }
        }
    }

    /** Noise, or requests that look right at first: valid opcodes and plausible lengths. */
    private static byte[] garbage(Random random) {
        byte[] noise = new byte[random.nextInt(2000)];
        random.nextBytes(noise);
        if (random.nextBoolean()) {
            return noise;
        }
        ByteBuffer requests = ByteBuffer.allocate(4000).order(ByteOrder.LITTLE_ENDIAN);
        while (requests.remaining() > 100) {
            requests.put((byte) random.nextInt(20)).putLong(random.nextInt(4));
            byte[] some = new byte[random.nextInt(20)];
            random.nextBytes(some);
            requests.put(some).putLong(random.nextInt(3));
        }
        return requests.array();
    }

    private TcpStore connect() {
        return TcpStore.connect("127.0.0.1", server.port(), enough(Duration.ofSeconds(60)));
    }
}

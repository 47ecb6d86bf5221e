package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jccl.StoreException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A server in a JVM with little memory goes on whatever clients send. */
@Timeout(120)
@Tag("all")
class ServerMemoryTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));
    private static final byte[] MAX = new byte[StoreArguments.MAX_VALUE_BYTES];

    private Process jvm;
    private int port;

    /** Serves a store until its input ends. */
    static final class Server {

        private Server() {}

        public static void main(String[] arguments) throws IOException {
            try (TcpStoreServer server =
                    TcpStoreServer.bind(
                            new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))) {
                System.out.println(server.port());
                while (System.in.read() >= 0) {
                    continue;
                }
            }
        }
    }

    @BeforeEach
    void start() throws IOException {
        jvm =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-Xmx64m",
                                "-cp",
                                System.getProperty("java.class.path"),
                                Server.class.getName())
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start();
        BufferedReader said = jvm.inputReader();
        port = Integer.parseInt(said.readLine());
    }

    @AfterEach
    void end() throws Exception {
        jvm.getOutputStream().close();
        boolean ended = jvm.waitFor(LONG.toSeconds(), TimeUnit.SECONDS);
        jvm.destroyForcibly();
        assertThat(ended).isTrue();
        assertThat(jvm.exitValue()).isZero();
    }

    private TcpStore connect() {
        return TcpStore.connect("127.0.0.1", port, LONG);
    }

    /** Others are served, so the server's thread is alive and has memory again. */
    private void assertServes() {
        try (TcpStore other = connect()) {
            long before = other.add("served", 0);
            assertThat(other.add("served", 1)).isEqualTo(before + 1);
        }
    }

    @Test
    void longValuesUntilNoMemoryIsLeft() {
        try (TcpStore store = connect()) {
            assertThatThrownBy(
                            () -> {
                                for (int i = 0; i < 64; i++) {
                                    store.set("value " + i, MAX);
                                    store.check(List.of("value " + i));
                                }
                            })
                    .isInstanceOf(StoreException.class);
        }
        assertServes();
        try (TcpStore store = connect()) {
            // Room for one value and for what the connection that was refused may still hold.
            for (int i = 0; i < 4; i++) {
                assertThat(store.deleteKey("value " + i)).isTrue();
            }
            store.set("value 0", MAX);
            assertThat(store.check(List.of("value 0"))).isTrue();
        }
    }

    @Test
    void moreInOneRequestThanAConnectionMayHold() {
        List<String> keys = List.of("a", "b", "c");
        try (TcpStore store = connect()) {
            assertThatThrownBy(
                            () -> {
                                store.multiSet(keys, Collections.nCopies(keys.size(), MAX));
                                store.check(keys);
                            })
                    .isInstanceOf(StoreException.class);
        }
        try (TcpStore store = connect()) {
            assertThat(store.keyCount()).isEqualTo(0);
        }
    }

    @Test
    void anAnswerThatIsLargerThanTheMemory() throws IOException {
        int times = 20;
        try (TcpStore store = connect()) {
            store.set("k", MAX);
            assertThat(store.check(List.of("k"))).isTrue();
        }
        try (Socket client = new Socket(InetAddress.getLoopbackAddress(), port)) {
            ByteBuffer request =
                    ByteBuffer.allocate(5 + 9 + times * 10).order(ByteOrder.LITTLE_ENDIAN);
            request.put(Opcode.VALIDATE.number()).putInt(Opcode.MAGIC);
            request.put(Opcode.MULTI_GET.number()).putLong(times);
            for (int i = 0; i < times; i++) {
                request.putLong(2).put("/k".getBytes(StandardCharsets.US_ASCII));
            }
            client.getOutputStream().write(request.array());
            InputStream in = client.getInputStream();
            DataInputStream data = new DataInputStream(in);
            for (int i = 0; i < times; i++) {
                assertThat(Long.reverseBytes(data.readLong())).isEqualTo(MAX.length);
                data.readFully(new byte[MAX.length]);
            }
        }
        assertServes();
    }

    @Test
    void manyHalfRequestsAtOnce() throws IOException {
        List<Socket> clients = new ArrayList<>();
        try {
            for (int i = 0; i < 12; i++) {
                Socket client = new Socket(InetAddress.getLoopbackAddress(), port);
                clients.add(client);
                ByteBuffer head =
                        ByteBuffer.allocate(5 + 1 + 10 + 8).order(ByteOrder.LITTLE_ENDIAN);
                head.put(Opcode.VALIDATE.number()).putInt(Opcode.MAGIC);
                head.put(Opcode.SET.number()).putLong(2).putShort((short) 0x2f2f);
                head.putLong(MAX.length);
                try {
                    client.getOutputStream().write(head.array());
                    client.getOutputStream().write(MAX, 0, MAX.length - 1);
                } catch (IOException refused) {
                    continue; // the server had no memory for it, and may say so
                }
            }
            assertServes();
        } finally {
            for (Socket client : clients) {
                client.close();
            }
        }
        assertServes();
    }
}

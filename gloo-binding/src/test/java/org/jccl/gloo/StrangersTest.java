package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.Store;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** More silent connections to a rank that connects than it has descriptors. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class StrangersTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));
    private static final int STRANGERS = 600;

    /** Rank 0, in a process with few descriptors. */
    static final class Main {

        private Main() {}

        public static void main(String[] arguments) {
            try (TcpStore store =
                            TcpStore.connect("127.0.0.1", Integer.parseInt(arguments[0]), LONG);
                    HostCommunicator rank = new GlooProvider().create(config(store, 0))) {
                System.out.println("connected " + rank.capabilities().largestTag());
            } catch (RuntimeException e) {
                System.out.println(e);
            }
        }
    }

    /** With 90 descriptors, accepting fails; with 400, the number of callers is at its bound. */
    @ParameterizedTest
    @ValueSource(ints = {90, 400})
    void aGroupFormsWhileStrangersHoldConnectionsToIt(int descriptors) throws Exception {
        List<Socket> strangers = new ArrayList<>();
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (TcpStoreServer server = TcpStoreServer.bind(any);
                TcpStore store = TcpStore.connect("127.0.0.1", server.port(), LONG)) {
            Process first =
                    new ProcessBuilder(
                                    "bash",
                                    "-c",
                                    "ulimit -n " + descriptors + "; exec \"$@\"",
                                    "bash",
                                    Path.of(System.getProperty("java.home"), "bin", "java")
                                            .toString(),
                                    "-XX:TieredStopAtLevel=1",
                                    "-cp",
                                    System.getProperty("java.class.path"),
                                    Main.class.getName(),
                                    Integer.toString(server.port()))
                            .redirectErrorStream(true)
                            .start();
            CompletableFuture<String> said =
                    CompletableFuture.supplyAsync(
                            () -> read(first), task -> new Thread(task).start());
            try {
                AnnouncementFormat format = new OwnAnnouncementFormat();
                store.await(List.of(format.key(0)), LONG);
                byte[] announced = format.decode(store.get(format.key(0)), 2).port();
                int port = ByteBuffer.wrap(announced).getShort(2) & 0xffff;
                for (int i = 0; i < STRANGERS && !said.isDone(); i++) {
                    strangers.add(new Socket(InetAddress.getByName("127.0.0.1"), port));
                }
                try (HostCommunicator second = new GlooProvider().create(config(store, 1))) {
                    assertThat(second.capabilities().largestTag()).isPositive();
                    assertThat(said.get()).contains("connected");
                }
            } finally {
                first.destroyForcibly();
            }
        } finally {
            for (Socket each : strangers) {
                each.close();
            }
        }
    }

    private static String read(Process process) {
        try {
            return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        } catch (java.io.IOException e) {
            return e.toString();
        }
    }

    private static CommunicatorConfig config(Store store, int rank) {
        return new CommunicatorConfig(
                "test",
                rank,
                2,
                Optional.of(store),
                LONG,
                LONG,
                Device.CPU,
                Interop.NONE,
                Optional.empty(),
                Optional.of(GlooOptions.onHost("127.0.0.1")),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }
}

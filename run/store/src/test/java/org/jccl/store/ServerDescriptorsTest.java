package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jccl.NativeException;
import org.jccl.StoreException;
import org.jccl.spi.Descriptors;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A store in a process that has no file descriptor left for a while. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("all")
class ServerDescriptorsTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(20));

    /** Takes all descriptors away from a server, so that it can neither accept nor log. */
    static final class Main {

        private Main() {}

        public static void main(String[] args) throws IOException, InterruptedException {
            InetAddress loopback = InetAddress.getLoopbackAddress();
            try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress(loopback, 0));
                    TcpStore first = connect(server)) {
                first.set("key", new byte[] {7});
                loadWhatTellsIt();
                limit(open() + 20); // enough to start a process when they are free again
                List<SocketChannel> sockets = new ArrayList<>();
                try {
                    while (true) {
                        sockets.add(SocketChannel.open(server.address()));
                    }
                } catch (IOException e) {
                    System.out.println("out of descriptors");
                }
                first.check(List.of("key")); // so the server has looked at who waits
                try {
                    connect(server).close();
                } catch (RuntimeException e) {
                    System.out.println(e.getMessage());
                }
                for (SocketChannel socket : sockets) {
                    socket.close();
                }
                limit(1024);
                try (TcpStore second = connect(server)) {
                    System.out.println("serves " + second.get("key")[0]);
                }
            }
        }

        /** Classes of this class path take a descriptor while they are loaded. */
        private static void loadWhatTellsIt() {
            try {
                Descriptors.require(Integer.MAX_VALUE, "nobody");
            } catch (NativeException e) {
                System.out.println(new StoreException("loaded", e).getMessage());
            }
        }

        private static TcpStore connect(TcpStoreServer server) {
            return TcpStore.connect("127.0.0.1", server.port(), TIMEOUT);
        }

        private static long open() throws IOException {
            try (Stream<Path> entries = Files.list(Path.of("/proc/self/fd"))) {
                return entries.count() - 1;
            }
        }

        private static void limit(long descriptors) throws IOException, InterruptedException {
            String pid = Long.toString(ProcessHandle.current().pid());
            String limit = "--nofile=" + descriptors + ":"; // not the hard one
            int code = new ProcessBuilder("prlimit", "--pid", pid, limit).start().waitFor();
            if (code != 0) {
                throw new IOException("prlimit ends with " + code);
            }
        }
    }

    @Test
    void aServerOutlivesAWantOfDescriptorsAndAClientSaysIt() throws Exception {
        assertThat(ChildJvm.outputOf(Main.class, Map.of()))
                .contains("out of descriptors")
                .contains("Too many open files: a connection to the store at 127.0.0.1:")
                .contains("serves 7");
    }
}

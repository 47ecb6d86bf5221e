package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** One server thread under many connections. */
@Tag("all")
final class TcpStoreServerLoadTest {

    private static final int CONNECTIONS = 10_000;

    /** What the rest of a JVM may have open. */
    private static final int OTHER_FILES = 500;

    @Test
    @EnabledOnOs(value = OS.LINUX, disabledReason = "counts open files in /proc")
    void oneThreadHoldsTenThousandConnections(TestReporter reporter) throws Exception {
        int connections = (int) Math.min(CONNECTIONS, openFileLimit() - OTHER_FILES);
        if (connections < CONNECTIONS) {
            reporter.publishEntry(
                    "connections",
                    connections + " only: the limit of open files is " + openFileLimit());
        }
        try (TcpStoreServer server =
                        TcpStoreServer.bind(
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                TcpStore store =
                        TcpStore.connect(
                                "127.0.0.1", server.port(), enough(Duration.ofSeconds(60)))) {
            Process clients = start(server.port(), connections);
            try (BufferedReader said = clients.inputReader()) {
                assertThat(said.readLine()).isEqualTo("waiting");
                assertThat(openFiles()).isGreaterThanOrEqualTo(connections);
                assertThat(threads()).containsOnlyOnce("jccl-store-" + server.port());
                assertThat(store.add("served among all those", 1)).isEqualTo(1);
                store.set("go", new byte[0]);
                assertThat(said.readLine()).isEqualTo("released");
                assertThat(clients.waitFor(60, TimeUnit.SECONDS)).isTrue();
                assertThat(clients.exitValue()).isZero();
                assertThat(store.add("served among all those", 1)).isEqualTo(2);
            } finally {
                clients.destroyForcibly();
            }
        }
    }

    private static Process start(int port, int connections) throws Exception {
        return new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        ManyClients.class.getName(),
                        String.valueOf(port),
                        String.valueOf(connections))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static List<String> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> name.startsWith("jccl-store-"))
                .toList();
    }

    /** From the line {@code Max open files <soft> <hard> files}. */
    private static long openFileLimit() throws IOException {
        try (Stream<String> limits = Files.lines(Path.of("/proc/self/limits"))) {
            return limits.filter(line -> line.startsWith("Max open files"))
                    .mapToLong(line -> Long.parseLong(line.split("\\s+")[3]))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static long openFiles() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.count();
        }
    }
}

package org.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code jccl run} on two hosts, which network namespaces stand for. Needs root. */
@Timeout(240)
@Tag("all")
class SeveralHostsTest {

    private static final long LIMIT_SECONDS = 90;
    private static final String FOREVER = "forever";

    @TempDir private Path folder;

    private TwoHosts hosts;

    /** A rank: sums all ranks + 1, once or until something breaks. */
    static final class SumOfRanks {
        private SumOfRanks() {}

        public static void main(String[] arguments) {
            boolean forever = arguments[0].equals(FOREVER);
            try (ProcessGroup world =
                            ProcessGroup.builder()
                                    .backend("gloo")
                                    .timeout(Duration.ofSeconds(forever ? 10 : 60))
                                    .build();
                    Tensor sum = Tensor.copyOf(new float[] {world.rank() + 1})) {
                world.sync().allReduce(sum, ReduceOp.SUM);
                System.out.println("sum " + sum.copyTo(new float[1])[0]);
                while (forever) {
                    world.sync().allReduce(sum, ReduceOp.MAX);
                }
            }
        }
    }

    @BeforeEach
    void makeHosts() throws Exception {
        hosts = TwoHosts.make(folder);
    }

    @AfterEach
    void removeHosts() throws Exception {
        if (hosts != null) {
            hosts.remove();
        }
    }

    private Process launch(int host, String master, int ranks, String howLong) throws IOException {
        List<String> command = new ArrayList<>(java(Jccl.class));
        command.addAll(List.of("run", "--nnodes", "2", "--node-rank", Integer.toString(host)));
        command.addAll(List.of("--master-addr", master, "-n", Integer.toString(ranks), "--"));
        command.addAll(java(SumOfRanks.class));
        command.add(howLong);
        return hosts.start(host, output(host), command);
    }

    /** With the options that have it start quickly. */
    private static List<String> java(Class<?> main) {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName());
    }

    private Path output(int host) {
        return folder.resolve("output-of-" + host);
    }

    private String said(int host) throws IOException {
        return Files.readString(output(host));
    }

    private int exitCode(Process launcher, int host) throws Exception {
        assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).as(said(host)).isTrue();
        return launcher.exitValue();
    }

    /** A name that host 0 takes for loopback and host 1 for an IPv4 address, and IPv6. */
    @ParameterizedTest
    @ValueSource(strings = {"host0", "fd77::1"})
    void ranksMeet(String master) throws Exception {
        Process first = launch(0, master, 2, "once");
        Process second = launch(1, master, 2, "once");
        assertThat(exitCode(first, 0)).as(said(0)).isZero();
        assertThat(exitCode(second, 1)).as(said(1)).isZero();
        assertThat(said(0).lines()).contains("[0] sum 10.0", "[1] sum 10.0");
        assertThat(said(1).lines()).contains("[2] sum 10.0", "[3] sum 10.0");
    }

    @Test
    void aCutCableFailsTheRanksOnBothSides() throws Exception {
        Process first = launch(0, "10.77.0.1", 1, FOREVER);
        Process second = launch(1, "10.77.0.1", 1, FOREVER);
        awaitText(0, "sum 3.0");
        awaitText(1, "sum 3.0");
        hosts.plug(false);
        String failed = "(OperationTimeout|PeerLost)Exception: group 'world', rank %d, operation ";
        awaitText(0, failed.formatted(0));
        awaitText(1, failed.formatted(1));
        hosts.plug(true);
        assertThat(exitCode(first, 0)).as(said(0)).isEqualTo(1);
        assertThat(exitCode(second, 1)).as(said(1)).isEqualTo(1);
    }

    private void awaitText(int host, String pattern) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
        while (!said(host).lines().anyMatch(line -> line.matches(".*" + pattern + ".*"))) {
            assertThat(System.nanoTime()).as(said(host)).isLessThan(end);
            Thread.sleep(100);
        }
    }
}

package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A process with few file descriptors, in which a world forms or says what it lacks. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("all")
class DescriptorLimitTest {

    private static final String WORDS = "Too many open files";

    /** How long the other ranks may take after one has failed; a launcher would stop them. */
    private static final long PATIENCE_MILLIS = 2000;

    private static final int RANKS = 3;

    @TempDir static Path directory;

    private static String classPath;

    /** Ranks as threads, whose descriptors are counted together. */
    static final class Main {

        private Main() {}

        public static void main(String[] args) throws InterruptedException {
            int port = Integer.parseInt(args[0]);
            Duration timeout = Duration.parse(args[1]);
            CountDownLatch failed = new CountDownLatch(1);
            CountDownLatch ended = new CountDownLatch(RANKS);
            for (int i = 0; i < RANKS; i++) {
                int rank = i;
                Thread thread =
                        new Thread(
                                () -> {
                                    boolean done = false;
                                    try {
                                        done = run(rank, port, timeout);
                                    } finally {
                                        if (!done) {
                                            failed.countDown();
                                        }
                                        ended.countDown();
                                    }
                                });
                thread.setDaemon(true);
                thread.start();
            }
            while (!ended.await(20, TimeUnit.MILLISECONDS)) {
                if (failed.getCount() == 0) {
                    boolean all = ended.await(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
                    System.out.println(all ? "all ended" : "the others still wait");
                    return;
                }
            }
        }

        private static boolean run(int rank, int port, Duration timeout) {
            try (ProcessGroup group =
                            ProcessGroup.builder()
                                    .backend("gloo")
                                    .initMethod("tcp://127.0.0.1:" + port)
                                    .rank(rank)
                                    .worldSize(RANKS)
                                    .timeout(timeout)
                                    .build();
                    Tensor one = Tensor.allocate(Device.CPU, DataType.FLOAT32, 1)) {
                group.sync().allReduce(one, ReduceOp.SUM);
                System.out.println("rank " + rank + " is done");
                return true;
            } catch (JcclException e) {
                System.out.println("rank " + rank + " exits with " + e.exitCode() + ": " + e);
                return false;
            }
        }
    }

    /** From directories, unlike from jars, each class takes a descriptor while it is loaded. */
    @BeforeAll
    static void makeJars() {
        List<String> jars = new ArrayList<>();
        for (String each : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (Files.isDirectory(Path.of(each))) {
                String jar = directory.resolve(jars.size() + ".jar").toString();
                int code =
                        ToolProvider.findFirst("jar")
                                .orElseThrow()
                                .run(System.out, System.err, "-cf", jar, "-C", each, ".");
                assertThat(code).isZero();
                jars.add(jar);
            } else if (each.contains("jccl") || each.contains("javacpp")) {
                jars.add(each);
            }
        }
        classPath = String.join(File.pathSeparator, jars);
    }

    private static List<String> linesWithAtMost(int descriptors)
            throws IOException, InterruptedException {
        int port = FreePort.next();
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Process process =
                new ProcessBuilder(
                                "bash",
                                "-c",
                                "ulimit -n " + descriptors + "; exec \"$@\"",
                                "bash",
                                java,
                                "-XX:TieredStopAtLevel=1",
                                "-XX:+UseSerialGC",
                                "-cp",
                                classPath,
                                Main.class.getName(),
                                Integer.toString(port),
                                enough(Duration.ofSeconds(60)).toString())
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start();
        try {
            String output =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(process.waitFor()).as(output).isZero();
            return output.lines().filter(line -> line.startsWith("rank ")).toList();
        } finally {
            process.destroyForcibly();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {12, 16, 20, 24, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 54, 58})
    void aWorldFormsOrSaysThatDescriptorsAreMissing(int limit) throws Exception {
        List<String> lines = linesWithAtMost(limit);
        if (lines.size() == RANKS && lines.stream().allMatch(line -> line.endsWith("is done"))) {
            return;
        }
        assertThat(lines)
                .noneMatch(line -> line.contains("exits with 64"))
                .noneMatch(line -> line.contains("firewall") && line.contains(WORDS))
                .anyMatch(line -> line.contains(WORDS) && line.contains("ulimit -n"));
    }

    @Test
    void theMessageHasTheLimitAndWhatTheWorldNeeds() throws Exception {
        assertThat(linesWithAtMost(36))
                .anyMatch(
                        line ->
                                line.contains("exits with 75")
                                        && line.contains("a group of 3 ranks needs up to 16 more")
                                        && line.contains("the limit is 36"));
    }

    @Test
    void enoughDescriptorsAreEnough() throws Exception {
        assertThat(linesWithAtMost(96)).hasSize(RANKS).allMatch(line -> line.endsWith("is done"));
    }
}

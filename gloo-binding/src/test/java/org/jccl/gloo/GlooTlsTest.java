package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadLocalRandom;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.TlsCredentials;
import org.jccl.UsageException;
import org.jccl.launch.ProcessLauncher;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;
import org.jccl.store.HashStore;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.Certificates;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks whose connections are encrypted, and who is rejected. */
@Timeout(180)
@Tag("all")
final class GlooTlsTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));

    /** A rank that accepts connections hears nothing of a rank that gives up. */
    private static final Duration SHORT = enough(Duration.ofSeconds(8));

    @TempDir private static Path folder;
    private static Certificates made;

    @BeforeAll
    static void makeCertificates() throws Exception {
        made =
                new Certificates(folder)
                        .authority("job")
                        .signed("one", "job")
                        .rsa("two", "job")
                        .expired("expired", "job")
                        .authority("other")
                        .signed("stranger", "other");
    }

    /** All trust the job. */
    private static TlsCredentials credentials(String name) throws Exception {
        return name.equals("plain") ? null : made.credentials(name, "job");
    }

    private static ProcessGroup join(
            Store store, int rank, int size, Duration timeout, TlsCredentials credentials) {
        ProcessGroupBuilder builder =
                ProcessGroup.builder()
                        .backend("gloo")
                        .options(GlooOptions.onHost("127.0.0.1"))
                        .store(store)
                        .rank(rank)
                        .worldSize(size)
                        .timeout(timeout);
        if (credentials != null) {
            builder.tls(credentials);
        }
        return builder.build();
    }

    private interface Body<T> {
        T run(ProcessGroup group);
    }

    private static <T> List<CompletableFuture<T>> start(
            Store store, Duration timeout, Body<T> body, String... names) throws Exception {
        List<CompletableFuture<T>> results = new ArrayList<>();
        for (int i = 0; i < names.length; i++) {
            int rank = i;
            TlsCredentials own = credentials(names[i]);
            results.add(
                    CompletableFuture.supplyAsync(
                            () -> {
                                try (ProcessGroup group =
                                        join(store, rank, names.length, timeout, own)) {
                                    return body.run(group);
                                }
                            },
                            task -> new Thread(task, "rank-" + rank).start()));
        }
        return results;
    }

    /** Of what each rank threw. */
    private static List<JcclException> failures(Duration timeout, String... names)
            throws Exception {
        List<JcclException> thrown = new ArrayList<>();
        for (CompletableFuture<String> each :
                start(HashStore.create(timeout), timeout, group -> "joined", names)) {
            try {
                throw new AssertionError(each.join());
            } catch (CompletionException e) {
                assertThat(e.getCause()).isInstanceOf(JcclException.class);
                thrown.add((JcclException) e.getCause());
            }
        }
        return thrown;
    }

    /** Each of the algorithms, in records of many sizes, between certificates of two algorithms. */
    @ParameterizedTest
    @ValueSource(ints = {1, 100, 10_000, 4_093, 40_961, 300_007, 3_000_001})
    void collectivesHaveTheSameResults(int count) throws Exception {
        Body<float[]> body =
                group -> {
                    float[] values = new float[count];
                    for (int i = 0; i < count; i++) {
                        values[i] = i % 1000 + group.rank();
                    }
                    try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, count)) {
                        tensor.copyFrom(values);
                        group.sync().allReduce(tensor, ReduceOp.SUM);
                        group.sync().broadcast(tensor, 1);
                        tensor.copyTo(values);
                        return values;
                    }
                };
        for (CompletableFuture<float[]> each :
                start(HashStore.create(LONG), LONG, body, "one", "two", "one")) {
            float[] sums = each.join();
            for (int i = 0; i < count; i++) {
                assertThat(sums[i]).isEqualTo(3 * (i % 1000) + 3);
            }
        }
    }

    /** Both directions are full: each side must read while it cannot write. */
    @Test
    void ranksThatSendToEachOtherAtOnceDoNotBlock() throws Exception {
        int count = 16 << 20;
        Body<Byte> body =
                group -> {
                    byte own = (byte) (group.rank() + 1);
                    byte[] bytes = new byte[count];
                    Arrays.fill(bytes, own);
                    try (Tensor out = Tensor.allocate(Device.CPU, DataType.INT8, count);
                            Tensor in = Tensor.allocate(Device.CPU, DataType.INT8, count)) {
                        out.copyFrom(bytes);
                        int peer = 1 - group.rank();
                        var sent = group.send(out, peer);
                        group.recv(in, peer).await();
                        sent.await();
                        byte[] expected = new byte[count];
                        Arrays.fill(expected, (byte) (3 - own));
                        in.copyTo(bytes);
                        assertThat(Arrays.equals(bytes, expected)).isTrue();
                        return bytes[0];
                    }
                };
        List<CompletableFuture<Byte>> results =
                start(HashStore.create(LONG), LONG, body, "one", "two");
        assertThat(results.get(0).join()).isEqualTo((byte) 2);
        assertThat(results.get(1).join()).isEqualTo((byte) 1);
    }

    @Test
    void subgroupsAreEncryptedToo() throws Exception {
        Body<Boolean> body =
                group -> {
                    try (ProcessGroup part = group.split(group.rank() / 2, group.rank()).get()) {
                        part.sync().barrier();
                        return part.size() == 2;
                    }
                };
        for (CompletableFuture<Boolean> each :
                start(HashStore.create(LONG), LONG, body, "one", "one", "two", "two")) {
            assertThat(each.join()).isTrue();
        }
    }

    @Test
    void aRankThatAbortsIsNamed() throws Exception {
        Body<String> body =
                group -> {
                    group.sync().barrier();
                    if (group.rank() == 1) {
                        group.abort();
                        return "aborted";
                    }
                    assertThatThrownBy(() -> group.sync().barrier())
                            .isInstanceOf(JcclException.class)
                            .hasMessageContaining("rank 1 reported: abort() was called");
                    return "lost";
                };
        List<CompletableFuture<String>> results =
                start(HashStore.create(LONG), LONG, body, "one", "one", "two");
        assertThat(results.get(0).join()).isEqualTo("lost");
        assertThat(results.get(2).join()).isEqualTo("lost");
    }

    @ParameterizedTest
    @ValueSource(strings = {"expired", "stranger"})
    void aRankWithABadCertificateIsRejected(String bad) throws Exception {
        // The rank with the larger port connects, so that each side is tried.
        List<JcclException> all = failures(SHORT, "one", bad);
        assertThat(all)
                .anySatisfy(
                        e ->
                                assertThat(e)
                                        .hasMessageContaining("TLS")
                                        .hasMessageContaining("certificate"));
        assertThat(all).allSatisfy(e -> assertThat(e).hasMessageContaining("TLS"));
    }

    @Test
    void aRankWithoutTlsIsRejectedAtOnce() throws Exception {
        for (JcclException each : failures(LONG, "one", "plain", "two")) {
            assertThat(each).isInstanceOf(UsageException.class).hasMessageContaining("TLS");
        }
    }

    /** Strangers that say nothing, nonsense or half of a handshake. */
    @Test
    void strangersAtThePortDoNotDisturb() throws Exception {
        Store store = HashStore.create(LONG);
        CommunicatorConfig first = config(store, 0);
        CompletableFuture<HostCommunicator> listening =
                CompletableFuture.supplyAsync(
                        () -> new GlooProvider().create(first), task -> new Thread(task).start());
        List<Socket> strangers = new ArrayList<>();
        AnnouncementFormat format = new OwnAnnouncementFormat();
        store.await(List.of(format.key(0)), LONG);
        int port = ByteBuffer.wrap(format.decode(store.get(format.key(0)), 2).port()).getShort(2);
        for (byte[] said : List.of(new byte[0], new byte[] {0x16, 3, 1, 0}, new byte[64])) {
            Socket stranger = new Socket(InetAddress.getByName("127.0.0.1"), port & 0xffff);
            stranger.getOutputStream().write(said);
            strangers.add(stranger);
        }
        try (HostCommunicator second = new GlooProvider().create(config(store, 1));
                HostCommunicator connected = listening.join()) {
            assertThat(second).isNotSameAs(connected);
        }
        for (Socket each : strangers) {
            each.close();
        }
    }

    private static CommunicatorConfig config(Store store, int rank) throws Exception {
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
                Optional.of(credentials("one")));
    }

    @Test
    void aPlainStoreIsRefused() throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (TcpStoreServer server = TcpStoreServer.bind(any);
                TcpStore store = TcpStore.connect("127.0.0.1", server.port(), LONG)) {
            TlsCredentials one = credentials("one");
            assertThatThrownBy(() -> join(store, 0, 1, LONG, one))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("without TLS");
        }
    }

    @Test
    void ranksOfPyTorchAreRefused() throws Exception {
        TlsCredentials one = credentials("one");
        assertThatThrownBy(
                        () ->
                                ProcessGroup.builder()
                                        .backend("gloo")
                                        .tls(one)
                                        .interop(Interop.TORCH)
                                        .store(HashStore.create(LONG))
                                        .rank(0)
                                        .worldSize(1)
                                        .build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("use plain connections");
    }

    /** Reads its certificates from the environment. */
    static final class Main {

        private Main() {}

        public static void main(String[] arguments) {
            try {
                List<CompletableFuture<Float>> results = new ArrayList<>();
                int port = ThreadLocalRandom.current().nextInt(20_000, 30_000);
                for (int i = 0; i < 2; i++) {
                    String method = "tcp://127.0.0.1:%d?rank=%d&world_size=2".formatted(port, i);
                    results.add(CompletableFuture.supplyAsync(() -> sum(method), NEW_THREAD));
                }
                System.out.println(
                        "sums " + results.stream().map(CompletableFuture::join).toList());
            } catch (CompletionException e) {
                System.out.println("failed " + e.getCause());
            }
        }

        private static final Executor NEW_THREAD = task -> new Thread(task).start();

        private static float sum(String method) {
            try (ProcessGroup group =
                            ProcessGroup.builder()
                                    .backend("gloo")
                                    .initMethod(method)
                                    .timeout(enough(Duration.ofSeconds(20)))
                                    .build();
                    Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 1)) {
                float[] values = {group.rank() + 1};
                tensor.copyFrom(values);
                group.sync().allReduce(tensor, ReduceOp.SUM);
                tensor.copyTo(values);
                return values[0];
            }
        }
    }

    private static Map<String, String> environment() throws Exception {
        Path certificate = Files.writeString(folder.resolve("one.pem"), made.certificate("one"));
        Path key = Files.writeString(folder.resolve("one.key"), made.key("one"));
        Path authorities = Files.writeString(folder.resolve("ca.pem"), made.authorities("job"));
        return Map.of(
                TlsCredentials.CERTIFICATE_VARIABLE,
                certificate.toString(),
                TlsCredentials.KEY_VARIABLE,
                key.toString(),
                TlsCredentials.AUTHORITIES_VARIABLE,
                authorities.toString());
    }

    @Test
    void theEnvironmentHasTheCertificates() throws Exception {
        assertThat(ChildJvm.outputOf(Main.class, environment())).contains("sums [3.0, 3.0]");
    }

    /** A rank of the launcher, which gives it the paths. */
    static final class LaunchedMain {

        private LaunchedMain() {}

        public static void main(String[] arguments) {
            System.out.println("sum " + Main.sum("env://"));
        }
    }

    @Test
    void theLauncherEncryptsItsStore() throws Exception {
        environment();
        List<String> lines = new CopyOnWriteArrayList<>();
        ProcessLauncher.builder(2)
                .mainClass(LaunchedMain.class)
                .jvmArguments(ChildJvm.shortLived())
                .tls(folder.resolve("one.pem"), folder.resolve("one.key"), folder.resolve("ca.pem"))
                .output((rank, error, line) -> lines.add(line))
                .timeout(LONG)
                .build()
                .run();
        assertThat(lines).filteredOn(line -> line.equals("sum 3.0")).hasSize(2);
    }

    @Test
    void theLauncherRejectsFilesThatAreNone() {
        assertThatThrownBy(
                        () ->
                                ProcessLauncher.builder(1)
                                        .mainClass(LaunchedMain.class)
                                        .tls(folder, folder, folder)
                                        .build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("cannot be read");
    }

    /** A damaged library comes before the system's. */
    @Test
    void aMissingOpenSslIsNamed() throws Exception {
        Path damaged = Files.createDirectory(folder.resolve("damaged"));
        for (String name : List.of("libssl.so.3", "libssl.so.1.1")) {
            Files.writeString(damaged.resolve(name), "no library");
        }
        Map<String, String> environment = new HashMap<>(environment());
        environment.put("LD_LIBRARY_PATH", damaged.toString());
        assertThat(ChildJvm.outputOf(Main.class, environment))
                .contains("failed org.jccl.UsageException")
                .contains("TLS needs OpenSSL 3 or 1.1.1");
    }
}

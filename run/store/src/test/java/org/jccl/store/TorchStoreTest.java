package org.jccl.store;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jccl.StoreTimeoutException;
import org.jccl.testing.Torch;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Our stores and PyTorch's own, at the two ends of one connection or file. */
@Tag("all")
final class TorchStoreTest {

    /** Runs the script beside this class. */
    private static Torch torch(String... arguments) throws Exception {
        URL script = TorchStoreTest.class.getResource("torch_store.py");
        return Torch.start(Path.of(script.toURI()), arguments);
    }

    private static final Duration LONG = enough(Duration.ofSeconds(60));

    @Test
    void torchClientsUseOurServer() throws Exception {
        try (TcpStoreServer server =
                        TcpStoreServer.bind(
                                new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                Torch torch = torch("client", String.valueOf(server.port()));
                TcpStore store = TcpStore.connect("127.0.0.1", server.port(), LONG)) {
            store.await(List.of("py/done"));
            assertThat(store.get("py/cs")).isEqualTo(bytes("second"));
            assertThat(store.listKeys()).contains("fix//pre/k");
            PrefixStore prefixed = new PrefixStore("pre", new PrefixStore("fix/", store));
            assertThat(prefixed.get("k")).isEqualTo(bytes("prefixed"));
            assertThat(store.joinWorkers()).isEqualTo(2);
            store.awaitWorkers(2, LONG);
            store.set("java/value", bytes("from java"));
            store.queuePush("java/queue", bytes("queued by java"));
            assertThat(store.queuePop("py/queue")).isEqualTo(bytes("queued by torch"));
            store.barrier("both", 2, LONG);
            prefixed.barrier("both", 2, LONG);
            torch.expectSuccess();
        }
    }

    @Test
    void ourClientUsesTorchsServer() throws Exception {
        try (Torch torch = torch("server")) {
            int port = Integer.parseInt(torch.line());
            try (TcpStore store = TcpStore.connect("127.0.0.1", port, LONG)) {
                assertThat(store.joinWorkers()).isEqualTo(1);
                store.awaitWorkers(1, LONG);
                useKeys(store);
                useWaits(store);
                useQueues(store);
            }
            torch.expectSuccess();
        }
    }

    private static void useKeys(TcpStore store) {
        store.set("k", bytes("v1"));
        assertThat(store.get("k")).isEqualTo(bytes("v1"));
        assertThat(store.add("n", 5)).isEqualTo(5);
        assertThat(store.add("n", -7)).isEqualTo(-2);
        assertThat(store.get("n")).isEqualTo(bytes("-2"));
        assertThat(store.check(List.of("k", "n"))).isTrue();
        assertThat(store.check(List.of("k", "nope"))).isFalse();
        assertThat(store.compareSet("cs", new byte[0], bytes("first"))).isEqualTo(bytes("first"));
        assertThat(store.compareSet("cs", bytes("bad"), bytes("x"))).isEqualTo(bytes("first"));
        assertThat(store.compareSet("cs2", bytes("bad"), bytes("x"))).isEqualTo(bytes("bad"));
        List<String> many = IntStream.range(0, 2000).mapToObj(i -> "many" + i).toList();
        List<byte[]> values = many.stream().map(StoreContract::bytes).toList();
        List<byte[]> missing = Collections.nCopies(many.size(), new byte[0]);
        assertThat(store.multiCompareSet(many, missing, values))
                .usingElementComparator(Arrays::compare)
                .isEqualTo(values);
        many.forEach(store::deleteKey);
        long before = store.keyCount();
        assertThat(store.deleteKey("k")).isTrue();
        assertThat(store.deleteKey("k")).isFalse();
        assertThat(store.keyCount()).isEqualTo(before - 1);
        store.append("ap", bytes("ab"));
        store.append("ap", bytes("cd"));
        store.multiSet(List.of("m1", "m2"), List.of(bytes("A"), bytes("BB")));
        assertThat(store.multiGet(List.of("ap", "m2", "m1")))
                .containsExactly(bytes("abcd"), bytes("BB"), bytes("A"));
        assertThat(store.listKeys()).containsExactlyInAnyOrder("n", "cs", "ap", "m1", "m2");
        byte[] large = new byte[StoreArguments.MAX_VALUE_BYTES];
        large[large.length - 1] = 7;
        store.set("large", large);
        assertThat(store.get("large")).isEqualTo(large);
    }

    private static void useWaits(TcpStore store) throws Exception {
        assertThatThrownBy(() -> store.await(List.of("never"), expires(Duration.ofMillis(100))))
                .isInstanceOf(StoreTimeoutException.class)
                .hasMessageContaining("never");
        assertThatThrownBy(() -> store.barrier("half", 2, expires(Duration.ofMillis(100))))
                .isInstanceOf(StoreTimeoutException.class)
                .hasMessageContaining("1 of 2");
        CompletableFuture<byte[]> waiting =
                CompletableFuture.supplyAsync(
                        () -> store.get("late"), task -> new Thread(task).start());
        store.set("late", bytes("now"));
        assertThat(waiting.get(60, TimeUnit.SECONDS)).isEqualTo(bytes("now"));
        store.barrier("alone", 1, LONG);
        try (TcpStore second = store.duplicate(LONG)) {
            CompletableFuture<Void> other =
                    CompletableFuture.runAsync(
                            () -> second.barrier("both", 2, LONG),
                            task -> new Thread(task).start());
            store.barrier("both", 2, LONG);
            other.get(60, TimeUnit.SECONDS);
        }
    }

    private static void useQueues(TcpStore store) {
        store.queuePush("q", bytes("x1"));
        store.queuePush("q", bytes("x2"));
        assertThat(store.queueLength("q")).isEqualTo(2);
        assertThat(store.queuePop("q")).isEqualTo(bytes("x1"));
        assertThat(store.queuePoll("q"))
                .hasValueSatisfying(v -> assertThat(v).isEqualTo(bytes("x2")));
        assertThat(store.queuePoll("q")).isEmpty();
    }

    @Test
    void torchAndWeShareAFile(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("store");
        try (FileStore store = FileStore.open(file, 2, LONG)) {
            store.set("java/value", bytes("from java"));
            store.add("java/n", 41);
            store.set("java/deleted", bytes("x"));
            store.deleteKey("java/deleted");
            try (Torch torch = torch("file", file.toString())) {
                store.await(List.of("py/started"));
                for (int i = 0; i < 100; i++) {
                    store.add("both/n", 1);
                }
                store.set("java/added", bytes("1"));
                long byTorch = Long.parseLong(new String(store.get("py/added"), US_ASCII));
                assertThat(byTorch).isPositive();
                assertThat(store.add("both/n", 0)).isEqualTo(byTorch + 100);
                assertThat(store.get("py/ap")).isEqualTo(bytes("potato"));
                assertThat(store.check(List.of("py/k"))).isFalse();
                assertThat(store.add("java/n", 0)).isEqualTo(42);
                store.set("java/done", bytes("1"));
                torch.expectSuccess();
            }
            assertThat(file).exists();
        }
        assertThat(file).doesNotExist();
    }

    private static byte[] bytes(String text) {
        return StoreContract.bytes(text);
    }
}

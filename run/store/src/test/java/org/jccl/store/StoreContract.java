package org.jccl.store;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What every kind of store does. A subclass makes the store. */
abstract class StoreContract {

    static final Duration LONG = enough(Duration.ofSeconds(60));
    static final Duration SHORT = expires(Duration.ofMillis(100));

    private final List<Store> opened = new ArrayList<>();
    private ExecutorService threads;
    Store store;

    /** Another client of the test's one store. */
    abstract Store connect(Duration timeout) throws Exception;

    @BeforeEach
    void openStore() throws Exception {
        threads = Executors.newCachedThreadPool();
        store = open(LONG);
    }

    @AfterEach
    void closeStores() {
        opened.forEach(Store::close);
        threads.shutdownNow();
    }

    final Store open(Duration timeout) throws Exception {
        Store client = connect(timeout);
        opened.add(client);
        return client;
    }

    final <T> Future<T> async(java.util.concurrent.Callable<T> call) {
        return threads.submit(call);
    }

    final Future<?> asyncRun(Runnable run) {
        return threads.submit(run);
    }

    static byte[] bytes(String text) {
        return text.getBytes(UTF_8);
    }

    static <T> T join(Future<T> future) throws Exception {
        return future.get(LONG.toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    void setsGetsChecksAndDeletes() {
        long before = store.keyCount();
        assertThat(store.check(List.of("k0"))).isFalse();

        store.set("k0", bytes("v0"));
        store.set("k1", bytes("old"));
        store.set("k1", bytes("new"));

        assertThat(store.get("k0")).isEqualTo(bytes("v0"));
        assertThat(store.get("k1")).isEqualTo(bytes("new"));
        assertThat(store.check(List.of("k0", "k1"))).isTrue();
        assertThat(store.check(List.of("k0", "k2"))).isFalse();
        assertThat(store.check(List.of())).isTrue();
        assertThat(store.keyCount()).isEqualTo(before + 2);
        assertThat(store.deleteKey("k0")).isTrue();
        assertThat(store.deleteKey("k0")).isFalse();
        assertThat(store.check(List.of("k0"))).isFalse();
        assertThat(store.keyCount()).isEqualTo(before + 1);
    }

    @Test
    void keepsAnyBytesUnderAnyKey() {
        byte[] all = new byte[256];
        for (int i = 0; i < all.length; i++) {
            all[i] = (byte) i;
        }
        for (String key : List.of("", "/", "a/b", "-minus", "ключ 鍵 🔑", "x".repeat(8000))) {
            store.set(key, all);
            assertThat(store.get(key)).as(key).isEqualTo(all);
        }
        store.set("empty", new byte[0]);
        assertThat(store.get("empty")).isEmpty();
        assertThat(store.listKeys())
                .contains("", "/", "a/b", "-minus", "ключ 鍵 🔑", "x".repeat(8000), "empty");
    }

    @Test
    void keepsACopyOfWhatIsSet() {
        byte[] value = bytes("kept");
        store.set("k", value);
        value[0] = 'X';
        store.get("k")[1] = 'X';
        assertThat(store.get("k")).isEqualTo(bytes("kept"));
    }

    int largestValue() {
        return StoreArguments.MAX_VALUE_BYTES;
    }

    @Test
    void takesTheLargestValue() throws Exception {
        byte[] value = new byte[largestValue()];
        value[value.length - 1] = 7;
        store.set("large", value);
        assertThat(open(LONG).get("large")).isEqualTo(value);
        assertThatThrownBy(() -> store.set("larger", new byte[value.length + 1]))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("larger")
                .hasMessageContaining(String.valueOf(value.length));
    }

    @Test
    void addsAsDecimalText() {
        assertThat(store.add("n", 5)).isEqualTo(5);
        assertThat(store.add("n", -7)).isEqualTo(-2);
        assertThat(store.get("n")).isEqualTo(bytes("-2"));
        store.set("n", bytes("12xyz"));
        assertThat(store.add("n", 1)).isEqualTo(13);
        assertThat(store.add("n", Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE + 13);
    }

    @Test
    void refusesToAddToText() {
        store.set("text", bytes("abc"));
        assertThatThrownBy(() -> store.add("text", 1))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("add(\"")
                .hasMessageContaining("text\")")
                .hasMessageContaining("the value there is not a decimal number");
        assertThat(store.get("text")).isEqualTo(bytes("abc"));
    }

    /** So many keys take a client's and a server's buffers several times. */
    int manyKeys() {
        return 3000;
    }

    @Test
    void multiCompareSetReplacesEachThatIsAsExpected() {
        int count = manyKeys();
        String last = "ticket" + (count - 1);
        List<String> keys = IntStream.range(0, count).mapToObj(i -> "ticket" + i).toList();
        List<byte[]> old = keys.stream().map(key -> bytes("old " + key)).toList();
        List<byte[]> taken = keys.stream().map(key -> bytes("taken " + key)).toList();
        store.multiSet(keys, old);
        store.set("ticket7", bytes("another"));
        store.deleteKey(last);
        List<byte[]> after = store.multiCompareSet(keys, old, taken);
        assertThat(after).hasSize(count);
        for (int i = 0; i < count; i++) {
            byte[] expected =
                    i == 7 ? bytes("another") : i == count - 1 ? old.get(i) : taken.get(i);
            assertThat(after.get(i)).isEqualTo(expected);
        }
        assertThat(store.get("ticket8")).isEqualTo(taken.get(8));
        assertThat(store.get("ticket7")).isEqualTo(bytes("another"));
        assertThat(store.check(List.of(last))).isFalse();
        assertThat(store.multiCompareSet(List.of(), List.of(), List.of())).isEmpty();
        List<byte[]> one = List.of(bytes("x"));
        for (ThrowingCallable wrong :
                List.<ThrowingCallable>of(
                        () -> store.multiCompareSet(null, one, one),
                        () -> store.multiCompareSet(List.of("k"), null, one),
                        () -> store.multiCompareSet(List.of("k"), one, null),
                        () -> store.multiCompareSet(List.of("k"), one, List.of()),
                        () -> store.multiCompareSet(List.of(), one, List.of()))) {
            assertThatThrownBy(wrong).isInstanceOf(UsageException.class);
        }
    }

    @Test
    void comparesAndSets() {
        assertThat(store.compareSet("c", bytes("wrong"), bytes("x"))).isEqualTo(bytes("wrong"));
        assertThat(store.check(List.of("c"))).isFalse();
        assertThat(store.compareSet("c", new byte[0], bytes("first"))).isEqualTo(bytes("first"));
        assertThat(store.compareSet("c", bytes("wrong"), bytes("x"))).isEqualTo(bytes("first"));
        assertThat(store.compareSet("c", bytes("first"), bytes("second")))
                .isEqualTo(bytes("second"));
        assertThat(store.get("c")).isEqualTo(bytes("second"));
    }

    @Test
    void appends() {
        store.append("a", bytes("po"));
        store.append("a", bytes("tato"));
        store.append("a", new byte[0]);
        assertThat(store.get("a")).isEqualTo(bytes("potato"));
    }

    @Test
    void setsAndGetsSeveral() {
        store.multiSet(List.of("m1", "m2"), List.of(bytes("A"), bytes("BB")));
        store.set("m3", new byte[0]);
        assertThat(store.multiGet(List.of("m3", "m2", "m1")))
                .containsExactly(new byte[0], bytes("BB"), bytes("A"));
        assertThat(store.multiGet(List.of())).isEmpty();
        assertThatThrownBy(() -> store.multiSet(List.of("m1", "m2"), List.of(bytes("A"))))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("2 keys and 1 values");
    }

    @Test
    void waitTimesOutNamingWhatIsMissing() throws Exception {
        store.set("there", bytes("1"));
        assertThatThrownBy(() -> store.await(List.of("there", "lost1", "lost2"), SHORT))
                .isInstanceOf(StoreTimeoutException.class)
                .hasMessageMatching(".*Missing keys: \\S*lost1, \\S*lost2\\. .*")
                .hasMessageContaining("100 ms");
        store.multiSet(List.of("lost1", "lost2"), List.of(bytes("1"), bytes("2")));
        store.await(List.of("there", "lost1", "lost2"));
    }

    @Test
    void waitWithoutTimeSucceedsForWhatIsThere() {
        store.set("there", bytes("1"));
        store.await(List.of("there"), Duration.ZERO);
        assertThatThrownBy(() -> store.await(List.of("lost"), Duration.ZERO))
                .isInstanceOf(StoreTimeoutException.class);
    }

    @Test
    void timedOutGetLeavesTheClientUsable() throws Exception {
        Store impatient = open(SHORT);
        assertThat(impatient.timeout()).isEqualTo(SHORT);
        for (int i = 0; i < 3; i++) {
            assertThatThrownBy(() -> impatient.get("late"))
                    .isInstanceOf(StoreTimeoutException.class)
                    .hasMessageContaining("late");
        }
        assertThatThrownBy(() -> impatient.multiGet(List.of("late", "later")))
                .isInstanceOf(StoreTimeoutException.class)
                .hasMessageContaining("late");
        store.set("late", bytes("now"));
        store.check(List.of("late"));
        assertThat(impatient.get("late")).isEqualTo(bytes("now"));
    }

    @Test
    void waitsOfSeveralThreadsOverlapWithOtherCalls() throws Exception {
        List<Future<byte[]>> waiting = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            String key = "future" + i;
            waiting.add(async(() -> store.get(key)));
        }
        for (int i = 0; i < 50; i++) {
            assertThat(store.add("other", 1)).isEqualTo(i + 1);
        }
        for (int i = 3; i >= 0; i--) {
            store.set("future" + i, bytes("v" + i));
            assertThat(join(waiting.get(i))).isEqualTo(bytes("v" + i));
        }
    }

    @Test
    void concurrentAddsAllCount() throws Exception {
        Store second = open(LONG);
        List<Future<?>> adding = new ArrayList<>();
        for (Store client : List.of(store, store, second)) {
            adding.add(
                    asyncRun(
                            () -> {
                                for (int i = 0; i < 20; i++) {
                                    client.add("n", 1);
                                }
                            }));
        }
        for (Future<?> each : adding) {
            join(each);
        }
        assertThat(store.add("n", 0)).isEqualTo(60);
    }

    @Test
    void interruptDoesNotBreakAWait() throws Exception {
        CountDownLatch started = new CountDownLatch(1);
        CompletableFuture<Boolean> flag = new CompletableFuture<>();
        Thread waiter =
                new Thread(
                        () -> {
                            try {
                                started.countDown();
                                store.get("late");
                                flag.complete(Thread.currentThread().isInterrupted());
                            } catch (RuntimeException e) {
                                flag.completeExceptionally(e);
                            }
                        });
        waiter.start();
        started.await();
        waiter.interrupt();
        store.set("late", bytes("now"));
        assertThat(join(flag)).isTrue();
        waiter.join();
    }

    @Test
    void duplicateHasTheSameContentAndItsOwnTimeout() {
        store.set("k", bytes("v"));
        try (Store duplicate = store.duplicate(SHORT)) {
            assertThat(duplicate.timeout()).isEqualTo(SHORT);
            assertThat(store.timeout()).isEqualTo(LONG);
            assertThat(duplicate.get("k")).isEqualTo(bytes("v"));
            duplicate.set("from duplicate", bytes("w"));
            assertThat(duplicate.check(List.of("from duplicate"))).isTrue();
        }
        assertThat(store.get("from duplicate")).isEqualTo(bytes("w"));
    }

    @Test
    void barrierReleasesAllAtOnce() throws Exception {
        int size = 3;
        List<Future<?>> arrived = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            Store client = open(LONG);
            int rank = i;
            arrived.add(
                    asyncRun(
                            () -> {
                                client.set("before" + rank, bytes("1"));
                                client.barrier("b", size, LONG);
                                assertThat(client.check(List.of("before0", "before1", "before2")))
                                        .isTrue();
                            }));
        }
        for (Future<?> each : arrived) {
            join(each);
        }
    }

    @Test
    void barrierTimeoutSaysHowManyArrived() {
        assertThatThrownBy(() -> store.barrier("b", 3, SHORT))
                .isInstanceOf(StoreTimeoutException.class)
                .hasMessageContaining("'b'")
                .hasMessageContaining("1 of 3");
        store.barrier("alone", 1, SHORT);
    }

    @Test
    void refusesWrongArguments() {
        List<String> withNull = new ArrayList<>();
        withNull.add(null);
        for (Runnable wrong :
                List.<Runnable>of(
                        () -> store.set(null, new byte[0]),
                        () -> store.set("k", null),
                        () -> store.get(null),
                        () -> store.add(null, 1),
                        () -> store.check(null),
                        () -> store.check(withNull),
                        () -> store.deleteKey(null),
                        () -> store.compareSet("k", null, new byte[0]),
                        () -> store.compareSet("k", new byte[0], null),
                        () -> store.await(withNull, LONG),
                        () -> store.await(List.of("k"), null),
                        () -> store.await(List.of("k"), Duration.ofMillis(-1)),
                        () -> store.append("k", null),
                        () -> store.multiGet(null),
                        () -> store.multiSet(null, List.of()),
                        () -> store.barrier("b", 0, LONG),
                        () -> store.barrier(null, 1, LONG),
                        () -> store.duplicate(null),
                        () -> store.set("x".repeat(8192), new byte[0]))) {
            assertThatThrownBy(wrong::run).isInstanceOf(UsageException.class);
        }
    }

    @Test
    void closedStoreRefusesCalls() throws Exception {
        Store closed = open(LONG);
        closed.close();
        closed.close();
        assertThatThrownBy(() -> closed.set("k", bytes("v")))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("closed");
        assertThatThrownBy(() -> closed.duplicate(LONG)).isInstanceOf(UsageException.class);
        store.set("k", bytes("others live on"));
    }

    @Test
    void closeEndsWaitsOfOtherThreads() throws Exception {
        Store closing = open(LONG);
        Future<byte[]> waiting = async(() -> closing.get("never"));
        closing.add("the other thread may be waiting now", 1);
        closing.close();
        assertThatThrownBy(() -> join(waiting))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("closed");
    }
}

package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.expires;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class ArrivalsTest {

    private static final Duration LONG = expires(Duration.ofSeconds(30));

    private final Store store = HashStore.create(LONG);
    private final Arrivals arrivals = new Arrivals(store, 3, rank -> "here/" + rank);

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void givesWhatEachRankSaid() {
        for (int rank = 0; rank < 3; rank++) {
            arrivals.arrive(rank, bytes("I am " + rank));
        }
        assertThat(arrivals.await(LONG, "test", LONG).stream().map(Arrivals::text))
                .containsExactly("I am 0", "I am 1", "I am 2");
        assertThat(arrivals.await(List.of(2, 0), LONG, "test", LONG).stream().map(Arrivals::text))
                .containsExactly("I am 2", "I am 0");
    }

    @Test
    void eachLearnsWhatAllSaidThroughRankZero() throws Exception {
        List<CompletableFuture<List<byte[]>>> ranks = new ArrayList<>();
        for (int rank = 2; rank >= 0; rank--) {
            byte[] said = bytes("I am " + rank);
            int me = rank;
            ranks.add(
                    CompletableFuture.supplyAsync(
                            () -> arrivals.exchange(me, said, LONG, "test", LONG),
                            task -> new Thread(task).start()));
        }
        for (CompletableFuture<List<byte[]>> rank : ranks) {
            assertThat(rank.get(30, TimeUnit.SECONDS).stream().map(Arrivals::text))
                    .containsExactly("I am 0", "I am 1", "I am 2");
        }
        for (int rank = 0; rank < 3; rank++) {
            arrivals.leave("left", List.of());
        }
        assertThat(store.listKeys()).isEmpty();
    }

    /** The failure of the group, for instance. A store that waits must not delay it. */
    @Test
    void aCheckEndsTheExchange() {
        Runnable failed =
                () -> {
                    throw new GroupAbortedException(FailureContext.NONE, "rank 2 failed");
                };
        for (int rank = 0; rank < 2; rank++) {
            int me = rank;
            assertThatThrownBy(() -> arrivals.exchange(me, bytes("I"), LONG, "test", failed))
                    .isInstanceOf(GroupAbortedException.class)
                    .hasMessage("rank 2 failed");
        }
    }

    @Test
    void whatRankZeroDoesNotPassOnIsWaitedForInVain() {
        assertThatThrownBy(
                        () ->
                                arrivals.exchange(
                                        1, bytes("x"), expires(Duration.ofMillis(1)), "test", LONG))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("test: not all ranks arrived within 30 s")
                .hasMessageContaining("ranks [0, 2] of 3 have not arrived");
        Arrivals others = new Arrivals(store, 3, rank -> "there/" + rank);
        others.arrive(0, bytes("x"));
        others.arrive(2, bytes("x"));
        assertThatThrownBy(
                        () ->
                                others.exchange(
                                        1, bytes("x"), expires(Duration.ofMillis(1)), "test", LONG))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("all 3 ranks have arrived by now")
                .hasMessageContaining("rank 0 did not pass on their values");
    }

    /** Else they would begin together with others what nobody can end. */
    @Test
    void ranksThatComeWhenAnotherWaitsNoLongerFailToo() {
        arrivals.arrive(2, bytes("x"));
        assertThatThrownBy(
                        () ->
                                arrivals.exchange(
                                        1, bytes("x"), expires(Duration.ofMillis(1)), "test", LONG))
                .hasMessageContaining("ranks [0] of 3 have not arrived");
        for (int rank : new int[] {0, 2}) {
            assertThatThrownBy(() -> arrivals.exchange(rank, bytes("x"), LONG, "test", LONG))
                    .isInstanceOf(OperationTimeoutException.class)
                    .hasMessageContaining(
                            "test: rank 1 stopped waiting: ranks [0] of 3 have not arrived");
        }
    }

    /** Of two ranks there is no other that could. */
    @Test
    void ranksThatComeWhenRankZeroWaitsNoLongerFailToo() {
        assertThatThrownBy(
                        () ->
                                arrivals.exchange(
                                        0, bytes("x"), expires(Duration.ofMillis(1)), "test", LONG))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [1, 2] of 3 have not arrived");
        assertThatThrownBy(() -> arrivals.exchange(1, bytes("x"), LONG, "test", LONG))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining(
                        "test: rank 0 stopped waiting: ranks [1, 2] of 3 have not arrived");
    }

    @Test
    void aRankThatGivesUpWhenRankZeroIsJustInTimeGoesOn() {
        Store late =
                (Store)
                        Proxy.newProxyInstance(
                                Store.class.getClassLoader(),
                                new Class<?>[] {Store.class},
                                (proxy, method, arguments) -> {
                                    if (method.getName().equals("await")) {
                                        arrivals.arrive(1, bytes("b"));
                                        arrivals.arrive(2, bytes("c"));
                                        arrivals.exchange(0, bytes("a"), LONG, "test", LONG);
                                        throw new StoreTimeoutException("late", null);
                                    }
                                    return method.invoke(store, arguments);
                                });
        assertThat(
                        new Arrivals(late, 3, rank -> "here/" + rank)
                                .exchange(1, bytes("b"), LONG, "test", LONG).stream()
                                        .map(Arrivals::text))
                .containsExactly("a", "b", "c");
    }

    @Test
    void whatRankZeroNeverPutDownIsRefused() {
        for (String all : List.of("", "x", "\0\0\0\0", "\0\0\0\1", "\0\0\0\1a", "\177\0\0\0a")) {
            store.set("here/0/all", all.getBytes(StandardCharsets.ISO_8859_1));
            assertThatThrownBy(() -> arrivals.exchange(1, bytes("x"), LONG, "test", LONG))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("key here/0/all")
                    .hasMessageContaining("of rank 0 instead of the values of 3 ranks");
        }
    }

    @Test
    void fewRequestsFindFewAmongThousands() {
        AtomicInteger checks = new AtomicInteger();
        Store counting =
                (Store)
                        Proxy.newProxyInstance(
                                Store.class.getClassLoader(),
                                new Class<?>[] {Store.class},
                                (proxy, method, arguments) -> {
                                    checks.incrementAndGet();
                                    return method.invoke(store, arguments);
                                });
        List<Integer> all = IntStream.range(0, 4096).boxed().toList();
        List<Integer> away = List.of(0, 1000, 4095);
        all.stream()
                .filter(rank -> !away.contains(rank))
                .forEach(rank -> store.set("r" + rank, new byte[0]));
        assertThat(Arrivals.missing(counting, all, rank -> "r" + rank)).isEqualTo(away);
        assertThat(checks.get()).isLessThan(100);
        assertThat(Arrivals.missing(counting, List.of(), rank -> "r" + rank)).isEmpty();
    }

    @Test
    void manyRanksAreFewWords() {
        assertThat(Arrivals.ranks(List.of())).isEqualTo("[]");
        assertThat(Arrivals.ranks(List.of(1, 2, 3, 4))).isEqualTo("[1, 2, 3, 4]");
        assertThat(Arrivals.ranks(List.of(1, 3, 4, 5, 6, 7, 9))).isEqualTo("[1, 3-7, 9]");
        assertThat(Arrivals.ranks(IntStream.range(0, 4096).boxed().toList())).isEqualTo("[0-4095]");
    }

    @Test
    void namesThoseWhoDoNotCome() {
        arrivals.arrive(1, bytes("x"));
        assertThatThrownBy(() -> arrivals.await(expires(Duration.ofMillis(1)), "test", LONG))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("test: not all ranks arrived within 30 s")
                .hasMessageContaining("ranks [0, 2] of 3 have not arrived");
        assertThatThrownBy(
                        () ->
                                arrivals.await(
                                        List.of(1, 2), expires(Duration.ofMillis(1)), "test", LONG))
                .hasMessageContaining("ranks [2] of 3 have not arrived");
    }

    @Test
    void namesThoseWhoCameAndDoNotGiveUpAsTheOthersDo() throws Exception {
        arrivals.arrive(0, bytes("x"));
        arrivals.arrive(1, bytes("x"));
        assertThat(arrivals.giveUp(0)).isEqualTo("ranks [2] of 3 have not arrived");
        arrivals.arrive(2, bytes("x"));
        CompletableFuture<String> first = CompletableFuture.supplyAsync(() -> arrivals.giveUp(0));
        assertThat(arrivals.giveUp(2))
                .isEqualTo("all 3 ranks have arrived, and all except ranks [1] have given up");
        assertThat(first.get(30, TimeUnit.SECONDS))
                .isEqualTo("all 3 ranks have arrived, and all except ranks [1] have given up");
        assertThat(arrivals.giveUp(1)).isEqualTo("all 3 ranks have arrived, and have given up");
    }

    @Test
    void whoGivesUpAtTheLastMomentIsNotNamed() {
        Store late =
                (Store)
                        Proxy.newProxyInstance(
                                Store.class.getClassLoader(),
                                new Class<?>[] {Store.class},
                                (proxy, method, arguments) -> {
                                    if (method.getName().equals("await")) {
                                        store.set("last/gave-up", new byte[0]);
                                        throw new StoreTimeoutException("late", null);
                                    }
                                    return method.invoke(store, arguments);
                                });
        Arrivals asked = new Arrivals(late, 2, rank -> rank == 0 ? "first" : "last");
        asked.arrive(0, bytes("x"));
        asked.arrive(1, bytes("x"));
        assertThat(asked.giveUp(0)).isEqualTo("all 2 ranks have arrived, and have given up");
    }

    @Test
    void doesNotWaitForAStoreThatDoesNotAnswer() throws Exception {
        CountDownLatch thawed = new CountDownLatch(1);
        AtomicBoolean came = new AtomicBoolean();
        Store frozen =
                (Store)
                        Proxy.newProxyInstance(
                                Store.class.getClassLoader(),
                                new Class<?>[] {Store.class},
                                (proxy, method, arguments) -> {
                                    if (came.getAndSet(true)) {
                                        thawed.await();
                                    }
                                    try {
                                        return method.invoke(store, arguments);
                                    } catch (InvocationTargetException e) {
                                        throw e.getCause();
                                    }
                                });
        Arrivals asked = new Arrivals(frozen, 1, rank -> "here/" + rank);
        asked.arrive(0, bytes("x"));
        assertThat(asked.giveUp(0)).contains("the store does not answer");
        asked.leave("left", List.of());
        thawed.countDown();
    }

    @Test
    void theLastWhoLeavesLeavesNoKeys() {
        for (int rank = 0; rank < 3; rank++) {
            arrivals.arrive(rank, bytes("x"));
        }
        store.set("id", bytes("y"));
        arrivals.leave("left", List.of("id"));
        arrivals.leave("left", List.of("id"));
        // The third may still read them, and if it has died they are not missed.
        assertThat(store.listKeys())
                .containsExactlyInAnyOrder("here/0", "here/1", "here/2", "id", "left");
        arrivals.leave("left", List.of("id"));
        assertThat(store.listKeys()).isEmpty();
    }

    @Test
    void whatIsNoNumberIsToldWithKeyAndRank() {
        assertThat(arrivals.number(2, "7", 0, 7)).isEqualTo(7);
        for (String said : List.of("", "x", "8", "-1", "7 ", "99999999999", "\0")) {
            assertThatThrownBy(() -> arrivals.number(2, said, 0, 7))
                    .isInstanceOf(BootstrapException.class)
                    .hasMessageContaining("\"" + said + "\"")
                    .hasMessageContaining("key here/2 of rank 2")
                    .hasMessageContaining("a number from 0 to 7");
        }
        assertThat(arrivals.corrupt(1, "x".repeat(1000), "a name").getMessage())
                .hasSizeLessThan(250);
    }
}

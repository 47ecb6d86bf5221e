package org.jccl.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.jccl.BootstrapException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class ArrivalsTest {

    private static final Duration LONG = Duration.ofSeconds(30);

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
        assertThat(arrivals.absent()).isEqualTo("all 3 have come by now");
    }

    @Test
    void namesThoseWhoDoNotCome() {
        arrivals.arrive(1, bytes("x"));
        assertThatThrownBy(() -> arrivals.await(Duration.ofMillis(1), "test", LONG))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("test: not all ranks came within 30 s")
                .hasMessageContaining("ranks [0, 2] of 3 have not come");
        assertThatThrownBy(() -> arrivals.await(List.of(1, 2), Duration.ofMillis(1), "test", LONG))
                .hasMessageContaining("ranks [2] of 3 have not come");
    }

    @Test
    void doesNotWaitForAStoreThatDoesNotAnswer() throws Exception {
        CountDownLatch thawed = new CountDownLatch(1);
        Store frozen =
                (Store)
                        Proxy.newProxyInstance(
                                Store.class.getClassLoader(),
                                new Class<?>[] {Store.class},
                                (proxy, method, arguments) -> {
                                    if (!method.getName().equals("set")) {
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
        assertThat(asked.absent()).contains("the store does not answer");
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

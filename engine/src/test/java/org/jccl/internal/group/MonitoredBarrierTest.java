package org.jccl.internal.group;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.spi.Durations;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

class MonitoredBarrierTest {

    private static final Duration SHORT = expires(Duration.ofMillis(20));
    private static final Duration LONG = enough(Duration.ofSeconds(30));

    private static final Runnable USABLE = () -> {};

    private final Store store = HashStore.create(LONG);

    private MonitoredBarrier barrier(int rank) {
        return new MonitoredBarrier(FailureContext.ofGroup("g", rank), 3, store, 1);
    }

    private void expectMissing(int rank, Duration wait, String missing) {
        assertThatThrownBy(() -> barrier(rank).pass(wait, true, USABLE))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("rank " + rank)
                .hasMessageContaining(missing + " did not arrive");
    }

    @Test
    void noRankPassesWhatAnotherGaveUp() {
        expectMissing(1, SHORT, "rank 0");
        expectMissing(2, LONG, "rank 0");
        assertThat(store.keyCount()).isPositive();
        expectMissing(0, LONG, "rank 0");
        assertThat(store.keyCount()).isZero();
    }

    @Test
    void aLateRankLearnsThatItWasMissed() {
        expectMissing(0, SHORT, "ranks [1, 2]");
        expectMissing(1, LONG, "ranks [1, 2]");
        expectMissing(2, LONG, "ranks [1, 2]");
        assertThat(store.keyCount()).isZero();
    }

    /** A rank that skips a barrier meets the one that the others gave up on, not their next one. */
    @Test
    void aRankThatIsOneBehindIsToldSo() {
        expectMissing(0, SHORT, "ranks [1, 2]");
        assertThatThrownBy(() -> barrier(1).pass(LONG, true, USABLE))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("call 1 of this group")
                .hasMessageContaining("did not arrive in " + Durations.text(SHORT))
                .hasMessageContaining("rank 1 called it after that")
                .hasMessageContaining("one behind");
    }

    /** A store that has not answered in one timeout must not take a second one. */
    @Test
    void theStoreIsHeardOfAfterEachTimeout() {
        List<Duration> waits = new ArrayList<>();
        Store watched =
                (Store)
                        Proxy.newProxyInstance(
                                Store.class.getClassLoader(),
                                new Class<?>[] {Store.class},
                                (proxy, method, arguments) -> {
                                    if (method.getName().equals("await")) {
                                        waits.add((Duration) arguments[1]);
                                    }
                                    try {
                                        return method.invoke(store, arguments);
                                    } catch (InvocationTargetException e) {
                                        throw e.getCause();
                                    }
                                });
        MonitoredBarrier alone =
                new MonitoredBarrier(FailureContext.ofGroup("g", 1), 3, watched, 2);
        assertThatThrownBy(() -> alone.pass(SHORT, true, USABLE))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("rank 0 did not arrive");
        assertThat(waits).containsExactly(SHORT, SHORT);
    }

    @Test
    void aFailureOfTheGroupEndsTheWait() {
        Runnable failed =
                () -> {
                    throw new GroupAbortedException(FailureContext.NONE, "rank 2 reported it");
                };
        for (int rank = 0; rank < 2; rank++) {
            MonitoredBarrier barrier = barrier(rank);
            assertThatThrownBy(() -> barrier.pass(LONG, true, failed))
                    .isInstanceOf(GroupAbortedException.class)
                    .hasMessageContaining("rank 2 reported it");
        }
    }

    @Test
    void whoeverLeavesLastLeavesNoKeys() {
        for (int round = 0; round < 20; round++) {
            CompletableFuture.allOf(
                            IntStream.range(0, 3)
                                    .mapToObj(
                                            rank ->
                                                    CompletableFuture.runAsync(
                                                            () ->
                                                                    barrier(rank)
                                                                            .pass(
                                                                                    LONG, false,
                                                                                    USABLE),
                                                            task -> new Thread(task).start()))
                                    .toArray(CompletableFuture[]::new))
                    .join();
            assertThat(store.keyCount()).isZero();
        }
    }
}

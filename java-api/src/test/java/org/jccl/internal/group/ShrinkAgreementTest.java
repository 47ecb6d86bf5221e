package org.jccl.internal.group;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.Store;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ShrinkAgreementTest {

    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(100);

    private final Store store = HashStore.create(LONG);

    private ShrinkAgreement of(int rank, int size) {
        return new ShrinkAgreement(FailureContext.ofGroup("world", rank), size, store, "shrink/0/");
    }

    private static <T> CompletableFuture<T> inThread(Supplier<T> call) {
        return CompletableFuture.supplyAsync(call, task -> new Thread(task).start());
    }

    @Test
    void nobodyIsWaitedForWhenAllAreThere() throws Exception {
        CompletableFuture<List<Integer>> other = inThread(() -> of(1, 2).enter(LONG));
        assertThat(of(0, 2).enter(LONG)).containsExactly(0, 1);
        assertThat(other.get(20, TimeUnit.SECONDS)).containsExactly(0, 1);
    }

    @Test
    void theFirstWhosePatienceIsOverFixesTheMembers() throws Exception {
        CompletableFuture<List<Integer>> patient = inThread(() -> of(2, 3).enter(LONG));
        store.await(List.of("shrink/0/here/2"));
        assertThat(of(0, 3).enter(SHORT)).containsExactly(0, 2);
        assertThat(patient.get(20, TimeUnit.SECONDS)).containsExactly(0, 2);
        assertThatThrownBy(() -> of(1, 3).enter(LONG))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("ranks [0, 2] continued without this one");
    }

    @Test
    void aGroupThatAllHaveMadeIsMade() throws Exception {
        CompletableFuture<Boolean> other = inThread(() -> of(1, 2).conclude(true, 2, LONG));
        assertThat(of(0, 2).conclude(true, 2, LONG)).isTrue();
        assertThat(other.get(20, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void whatOneCouldNotMakeIsMadeNowhere() throws Exception {
        CompletableFuture<Boolean> other = inThread(() -> of(1, 2).conclude(true, 2, LONG));
        store.await(List.of("shrink/0/finished"));
        assertThat(of(0, 2).conclude(false, 2, LONG)).isFalse();
        assertThat(other.get(20, TimeUnit.SECONDS)).isFalse();
    }

    @Test
    void aRankThatNeverTellsIsNotWaitedForEndlessly() {
        assertThat(of(0, 2).conclude(true, 2, SHORT)).isFalse();
        // Too late: the others have given the group up.
        assertThat(of(1, 2).conclude(true, 2, LONG)).isFalse();
    }
}

package org.jccl.internal.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.NEVER;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class AgreementTest {

    private static final Duration LONG = enough(Duration.ofSeconds(30));
    private static final Duration SHORT = expires(Duration.ofMillis(200));

    private final Store store = HashStore.create(LONG);
    private final List<Integer> discarded = new ArrayList<>();

    @AfterEach
    void closeStore() {
        store.close();
    }

    /** The members of an attempt, in place of a group. */
    private record Formed(int attempt, List<Integer> slots) {}

    /** A rank, which connects to the others by keys of the store. */
    private final class Rank implements Agreement.Forming<Formed> {
        private final int slot;
        private final Agreement<Formed> agreement;
        private final ConcurrentHashMap<Integer, Boolean> fails = new ConcurrentHashMap<>();
        private JcclException failure =
                new PeerLostException(FailureContext.NONE, "as the test wants", 0);

        Rank(int slot, int size, int minimum, boolean admitsNewcomers) {
            this.slot = slot;
            this.agreement =
                    new Agreement<>(
                            FailureContext.ofGroup("world", slot),
                            slot,
                            size,
                            minimum,
                            admitsNewcomers,
                            store,
                            this);
        }

        Rank failsIn(int attempt) {
            fails.put(attempt, true);
            return this;
        }

        @Override
        public Formed connect(int attempt, List<Integer> slots, Store own, Duration time) {
            if (fails.containsKey(attempt)) {
                throw failure;
            }
            own.set(attempt + "/formed/" + slot, new byte[0]);
            own.await(slots.stream().map(each -> attempt + "/formed/" + each).toList(), LONG);
            own.close();
            return new Formed(attempt, slots);
        }

        @Override
        public void discard(Formed group) {
            synchronized (discarded) {
                discarded.add(slot);
            }
        }

        Formed next(Duration patience) {
            return agreement.next(patience, LONG);
        }

        CompletableFuture<Formed> start(Duration patience) {
            return inThread(() -> next(patience));
        }
    }

    private static <T> CompletableFuture<T> inThread(Supplier<T> call) {
        return CompletableFuture.supplyAsync(call, task -> new Thread(task).start());
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(25, TimeUnit.SECONDS);
    }

    @Test
    void nobodyWaitsIfAllHaveCome() throws Exception {
        CompletableFuture<Formed> other = new Rank(1, 2, 1, true).start(LONG);
        assertThat(new Rank(0, 2, 1, true).next(LONG)).isEqualTo(new Formed(0, List.of(0, 1)));
        assertThat(get(other)).isEqualTo(new Formed(0, List.of(0, 1)));
    }

    @Test
    void theFirstWhosePatienceIsOverDecides() throws Exception {
        CompletableFuture<Formed> patient = new Rank(2, 3, 1, false).start(LONG);
        store.await(List.of("0/here/2"));
        assertThat(new Rank(0, 3, 1, false).next(SHORT).slots()).containsExactly(0, 2);
        assertThat(get(patient).slots()).containsExactly(0, 2);
    }

    @Test
    void aRankThatComesTooLateIsToldWhereNobodyIsAdmitted() throws Exception {
        assertThat(new Rank(0, 2, 1, false).next(SHORT).slots()).containsExactly(0);
        assertThatThrownBy(() -> new Rank(1, 2, 1, false).next(SHORT))
                .isInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("ranks [0] continued without this one");
    }

    @Test
    void aRankThatComesLateWaitsForTheNextGeneration() throws Exception {
        Rank first = new Rank(0, 2, 1, true);
        assertThat(first.next(SHORT).slots()).containsExactly(0);
        assertThat(first.agreement.hasNewcomers()).isFalse();
        CompletableFuture<Formed> late = new Rank(1, 2, 1, true).start(SHORT);
        store.await(List.of("1/here/1"));
        Thread.sleep(SHORT.multipliedBy(3).toMillis());
        assertThat(late).isNotDone();
        assertThat(first.agreement.hasNewcomers()).isTrue();
        assertThat(first.next(LONG)).isEqualTo(new Formed(1, List.of(0, 1)));
        assertThat(get(late)).isEqualTo(new Formed(1, List.of(0, 1)));
    }

    @Test
    void newcomersDoNotContinueWithoutTheOthersEvenIfThereAreEnough() throws Exception {
        Rank survivor = new Rank(0, 3, 2, true);
        CompletableFuture<Formed> lost1 = new Rank(1, 3, 2, true).start(LONG);
        CompletableFuture<Formed> lost2 = new Rank(2, 3, 2, true).start(LONG);
        survivor.next(LONG);
        get(lost1);
        get(lost2);
        CompletableFuture<Formed> fresh1 = new Rank(1, 3, 2, true).start(SHORT);
        CompletableFuture<Formed> fresh2 = new Rank(2, 3, 2, true).start(SHORT);
        store.await(List.of("1/here/1", "1/here/2"));
        Thread.sleep(SHORT.multipliedBy(3).toMillis());
        assertThat(fresh1).isNotDone();
        assertThat(fresh2).isNotDone();
        assertThat(survivor.next(SHORT).slots()).containsExactly(0, 1, 2);
        get(fresh1);
        get(fresh2);
    }

    @Test
    void newcomersContinueIfAllMembersWereReplaced() throws Exception {
        assertThat(new Rank(0, 3, 1, true).next(SHORT).slots()).containsExactly(0);
        assertThat(new Rank(0, 3, 1, true).next(SHORT)).isEqualTo(new Formed(1, List.of(0)));
    }

    @Test
    void tooFewWait() throws Exception {
        CompletableFuture<Formed> one = new Rank(1, 3, 2, true).start(SHORT);
        store.await(List.of("0/here/1"));
        Thread.sleep(SHORT.multipliedBy(3).toMillis());
        assertThat(one).isNotDone();
        assertThat(new Rank(2, 3, 2, true).next(SHORT).slots()).containsExactly(1, 2);
        get(one);
    }

    @Test
    void tooFewAreNamedWhenTheTimeIsOver() {
        Rank alone = new Rank(1, 3, 2, true);
        assertThatThrownBy(() -> alone.agreement.next(SHORT, SHORT.multipliedBy(2)))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [0, 2] of 3 are missing");
    }

    @Test
    void whatOneCannotFormIsFormedNowhere() throws Exception {
        CompletableFuture<Formed> other = new Rank(1, 2, 1, true).start(LONG);
        assertThat(new Rank(0, 2, 1, true).failsIn(0).next(LONG))
                .isEqualTo(new Formed(1, List.of(0, 1)));
        assertThat(get(other).attempt()).isEqualTo(1);
    }

    @Test
    void wrongUseIsThrownAtOnce() throws Exception {
        CompletableFuture<Formed> other = new Rank(1, 2, 1, true).start(SHORT);
        Rank wrong = new Rank(0, 2, 1, true);
        wrong.failure = new UsageException(FailureContext.NONE, "no such option");
        assertThatThrownBy(() -> wrong.failsIn(0).next(LONG))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("no such option");
        // The other rank does not wait for it.
        assertThat(get(other)).isEqualTo(new Formed(1, List.of(1)));
    }

    @Test
    void theLastFailureIsToldWhenTheTimeIsOver() {
        Rank alone = new Rank(0, 1, 1, true);
        for (int attempt = 0; attempt < 100; attempt++) {
            alone.failsIn(attempt);
        }
        assertThatThrownBy(() -> alone.agreement.next(SHORT, SHORT))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("the last attempt failed: ")
                .hasMessageContaining("as the test wants");
    }

    @Test
    void aReplacementEndsAnAttemptThatWaitsForTheLostProcess() throws Exception {
        // Rank 1 is lost after it has announced itself.
        store.set("0/here/1", "lost".getBytes());
        CompletableFuture<Formed> other = new Rank(0, 2, 1, true).start(NEVER);
        store.await(List.of("0/formed/0"));
        assertThat(new Rank(1, 2, 1, true).next(NEVER)).isEqualTo(new Formed(1, List.of(0, 1)));
        assertThat(get(other).attempt()).isEqualTo(1);
    }

    @Test
    void twoProcessesWithTheSameRankAreTold() throws Exception {
        CompletableFuture<Formed> first = new Rank(0, 2, 2, true).start(LONG);
        store.await(List.of("0/here/0"));
        CompletableFuture<Formed> second = new Rank(0, 2, 2, true).start(LONG);
        assertThatThrownBy(() -> get(first))
                .hasCauseInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("another process");
        new Rank(1, 2, 2, true).next(LONG);
        assertThat(get(second).slots()).containsExactly(0, 1);
    }

    @Test
    void keysOfEarlierAttemptsAreDeleted() throws Exception {
        Rank one = new Rank(0, 2, 1, true);
        Rank two = new Rank(1, 2, 1, true);
        long keys = 0;
        for (int generation = 0; generation < 20; generation++) {
            CompletableFuture<Formed> other = two.start(LONG);
            assertThat(one.next(LONG).attempt()).isEqualTo(generation);
            get(other);
            if (generation == 2) {
                keys = store.keyCount();
            }
        }
        assertThat(store.keyCount()).isEqualTo(keys);
    }
}

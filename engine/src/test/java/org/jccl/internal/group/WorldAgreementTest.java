package org.jccl.internal.group;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.internal.backend.Release;
import org.jccl.store.HashStore;
import org.jccl.store.PrefixStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

@Timeout(120)
@Execution(ExecutionMode.CONCURRENT)
class WorldAgreementTest {

    private static final Duration LONG = enough(Duration.ofSeconds(60));
    private static final Duration SHORT = expires(Duration.ofMillis(200));

    private final Store store = HashStore.create(LONG);
    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void end() {
        threads.shutdownNow();
    }

    private Store enter(int rank, int size, Duration timeout) {
        return new WorldAgreement(store, rank, size, false, timeout).enter();
    }

    /** What tells two parts apart: where a key of theirs is in the whole store. */
    private String nameOf(Store part) {
        String mark = "mark" + store.add("marks", 1);
        part.set(mark, new byte[0]);
        String found =
                store.listKeys().stream().filter(key -> key.endsWith("/" + mark)).findFirst().get();
        return found.substring(0, found.length() - mark.length());
    }

    private Future<String> later(int rank, int size, Duration timeout) {
        return threads.submit(() -> nameOf(enter(rank, size, timeout)));
    }

    private static String get(Future<String> name) throws Exception {
        return name.get(LONG.toSeconds(), TimeUnit.SECONDS);
    }

    @Test
    void eachWorldHasAPartOfItsOwnWhicheverRankIsLast() throws Exception {
        List<String> names = new ArrayList<>();
        for (int last = 0; last < 9; last++) {
            List<Future<String>> ranks = new ArrayList<>();
            for (int rank = 0; rank < 3; rank++) {
                if (rank != last % 3) {
                    ranks.add(later(rank, 3, LONG));
                }
            }
            String name = nameOf(enter(last % 3, 3, LONG));
            for (Future<String> rank : ranks) {
                assertThat(get(rank)).isEqualTo(name);
            }
            names.add(name);
        }
        assertThat(names).doesNotHaveDuplicates();
    }

    /** A launcher's store keeps what processes have left that it killed. */
    private void leaveTicket(int rank, int size) {
        new PrefixStore("worlds/" + size, store)
                .set("ticket/" + rank, "of-a-killed-process@@host".getBytes(UTF_8));
    }

    @Test
    void noWorldIsMadeWithATicketOfAKilledRank() throws Exception {
        leaveTicket(1, 3);
        leaveTicket(2, 3);
        Future<String> zero = later(0, 3, LONG);
        Future<String> two = later(2, 3, LONG);
        Thread.sleep(SHORT.toMillis());
        String name = nameOf(enter(1, 3, LONG));
        assertThat(get(zero)).isEqualTo(name);
        assertThat(get(two)).isEqualTo(name);
    }

    @Test
    void aKilledRankIsMissing() throws Exception {
        leaveTicket(1, 3);
        later(2, 3, LONG);
        assertThatThrownBy(() -> enter(0, 3, SHORT))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [1] of 3 did not join within 200 ms");
    }

    @Test
    void aLoneRankNeedsNobody() {
        assertThat(nameOf(enter(0, 1, SHORT))).isNotEqualTo(nameOf(enter(0, 1, SHORT)));
    }

    /** Where a store is served anew, ranks of the job before may still write to their world. */
    @Test
    void theFirstWorldsOfTwoStoresAreNotTheSame() {
        Store before = HashStore.create(LONG);
        Store stale = new WorldAgreement(before, 0, 1, false, LONG).enter();
        String part = stale.toString().replace(before.toString(), store.toString());
        assertThat(enter(0, 1, LONG)).asString().isNotEqualTo(part);
    }

    @Test
    void aRankThatGaveUpAndCameAgainIsCountedOnce() throws Exception {
        assertThatThrownBy(() -> enter(1, 3, SHORT))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [0, 2] of 3 did not join within 200 ms");
        assertThatThrownBy(() -> enter(0, 3, SHORT))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining(
                        "ranks [2] of 3 did not join within 200 ms (ranks [1] arrived, and gave up"
                                + " earlier)");
        Future<String> two = later(2, 3, LONG);
        Future<String> zero = later(0, 3, LONG);
        String one = nameOf(enter(1, 3, LONG));
        assertThat(List.of(get(zero), get(two))).containsOnly(one);
    }

    @Test
    void aRankThatIsLateAtTheSecondWorldIsNotTakenForOneThatIsThere() throws Exception {
        Future<String> first = later(1, 2, LONG);
        enter(0, 2, LONG);
        get(first);
        assertThatThrownBy(() -> enter(0, 2, SHORT))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [1] of 2 did not join");
    }

    /** Its ticket lies there, and nobody takes those of the others. */
    @Test
    void whoGaveUpForTheSameReasonIsNotBlamedForIt() {
        store.set("worlds/3/ticket/0", "frozen".getBytes(StandardCharsets.UTF_8));
        assertThatThrownBy(() -> enter(2, 3, SHORT)).hasMessageContaining("ranks [1] of 3");
        assertThatThrownBy(() -> enter(1, 3, SHORT))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining(
                        "rank 0 did not make the world of 3 ranks, though all ranks arrived,"
                                + " within 200 ms (ranks [2] arrived, and gave up earlier)");
    }

    /** Not every rank can look for every other then. */
    @Test
    void inALargeWorldRankZeroSaysWhoIsMissing() {
        assertThatThrownBy(() -> enter(1, 1000, SHORT))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [0] of 1000 did not join within 200 ms");
        for (int rank : List.of(1, 2)) {
            store.set("worlds/1000/ticket/" + rank, "frozen".getBytes(StandardCharsets.UTF_8));
        }
        assertThatThrownBy(() -> enter(0, 1000, SHORT))
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [3-999] of 1000 did not join within 200 ms");
        for (int rank : List.of(1, 2)) {
            assertThatThrownBy(() -> enter(rank, 1000, SHORT))
                    .isInstanceOf(OperationTimeoutException.class)
                    .hasMessageContaining(
                            "rank 0 gave up: ranks [3-999] of 1000 did not join within 200 ms");
        }
        store.set("worlds/1000/ticket/0", "frozen".getBytes(StandardCharsets.UTF_8));
        store.deleteKey("worlds/1000/why");
        assertThatThrownBy(() -> enter(1, 1000, SHORT))
                .hasMessageContaining("was not made within 200 ms; rank 0 still waits");
    }

    @Test
    void worldsOfOtherSizesDoNotMeet() {
        Future<String> three = later(1, 3, SHORT);
        store.await(List.of("worlds/3/ticket/1"));
        assertThatThrownBy(() -> enter(0, 2, SHORT))
                .hasMessageContaining("ranks [1] of 2 did not join within 200 ms")
                .hasMessageContaining("; ranks [1] expect a world of 3 ranks");
        assertThatThrownBy(() -> get(three)).hasMessageContaining("ranks [0, 2] of 3");
    }

    @Test
    void aRankThatIsInAnEarlierWorldOfAnotherSizeIsJustMissing() throws Exception {
        Future<String> earlier = later(1, 2, LONG);
        enter(0, 2, LONG);
        get(earlier);
        assertThatThrownBy(() -> enter(0, 3, SHORT))
                .hasMessageContaining("ranks [1, 2] of 3 did not join within 200 ms; check that");
    }

    /** Joining has taken all its time before, so that this wait has none left. */
    @Test
    void noShortWaitIsTheCauseOfALongOne() {
        for (int rank = 0; rank < 2; rank++) {
            WorldAgreement late =
                    new WorldAgreement(
                            store, rank, 3, false, expires(Duration.ofMinutes(10)), Duration.ZERO);
            assertThatThrownBy(late::enter)
                    .isInstanceOf(OperationTimeoutException.class)
                    .hasMessageContaining("of 3 did not join within 600 s")
                    .hasNoCause();
        }
    }

    @Test
    void aRankThatGaveUpOnAWorldOfAnotherSizeIsSaidToWantThat() {
        assertThatThrownBy(() -> enter(1, 3, SHORT)).hasMessageContaining("ranks [0, 2] of 3");
        assertThatThrownBy(() -> enter(0, 2, SHORT))
                .hasMessageContaining("; ranks [1] expect a world of 3 ranks");
    }

    private Future<String> later(int rank, String version) {
        Release release = new Release("jccl-engine", version, "engine-" + version + ".jar");
        return threads.submit(
                () ->
                        nameOf(
                                new WorldAgreement(store, rank, 3, false, LONG, LONG, release)
                                        .enter()));
    }

    @Test
    void ranksOfDifferentMinorVersionsAreRefusedEverywhere() {
        for (Future<String> rank :
                List.of(later(1, "0.2.1"), later(2, "0.3.0"), later(0, "0.2.0"))) {
            assertThatThrownBy(() -> get(rank))
                    .hasCauseInstanceOf(MismatchException.class)
                    .hasMessageContaining("rank 2 on ")
                    .hasMessageContaining("runs JCCL 0.3.0, and rank 0 on ")
                    .hasMessageContaining("runs 0.2.0 (engine-0.2.0.jar)");
        }
    }

    @Test
    void ranksThatDifferInLessMeet() throws Exception {
        Future<String> one = later(1, "0.2.9-SNAPSHOT");
        Future<String> unknown = later(2, "");
        String name = get(later(0, "0.2.0"));
        assertThat(get(one)).isEqualTo(name);
        assertThat(get(unknown)).isEqualTo(name);
    }

    @Test
    void aRankThatExistsTwiceIsToldSo() {
        CountDownLatch firstIsThere = new CountDownLatch(1);
        Future<String> first = later(1, 2, enough(Duration.ofSeconds(2)));
        threads.submit(
                () -> {
                    store.await(List.of("worlds/2/ticket/1"), LONG);
                    firstIsThere.countDown();
                    return null;
                });
        assertThat(await(firstIsThere)).isTrue();
        Future<String> second = later(1, 2, enough(Duration.ofSeconds(30)));
        assertThatThrownBy(() -> get(first))
                .hasMessageContaining("joined the same world as rank 1");
        assertThat(second.isDone()).isFalse();
    }

    private static boolean await(CountDownLatch latch) {
        try {
            return latch.await(LONG.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aStoreThatServesOneWorldServesNoSecond() throws Exception {
        Future<String> one =
                threads.submit(() -> nameOf(new WorldAgreement(store, 1, 2, true, LONG).enter()));
        new WorldAgreement(store, 0, 2, true, LONG).enter();
        get(one);
        assertThatThrownBy(() -> new WorldAgreement(store, 1, 2, true, LONG).enter())
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("still belongs to an earlier world");
    }

    @Test
    void rankZeroSendsAwayWhoWaitsInAStoreThatItCloses() {
        Future<String> one =
                threads.submit(() -> nameOf(new WorldAgreement(store, 1, 3, true, LONG).enter()));
        store.await(List.of("worlds/3/ticket/1"), LONG);
        assertThatThrownBy(() -> new WorldAgreement(store, 0, 3, true, SHORT).enter())
                .hasMessageContaining("ranks [2] of 3");
        assertThatThrownBy(() -> get(one))
                .hasMessageContaining("still belongs to an earlier world");
    }

    /**
     * Ranks that give up and come again at random: whenever an attempt gets into a world, exactly
     * one attempt of every other rank has got into the same.
     */
    @Test
    void neverMixesAttempts() throws Exception {
        int size = 4;
        int worldsWanted = 50;
        Map<String, List<Integer>> members = new HashMap<>();
        List<Future<Integer>> ranks = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            int self = rank;
            Random random = new Random(self);
            Callable<Integer> work =
                    () -> {
                        int worlds = 0;
                        while (worlds < worldsWanted) {
                            Duration patience =
                                    random.nextInt(3) == 0
                                            ? Duration.ofMillis(random.nextInt(10))
                                            : enough(Duration.ofSeconds(2));
                            try {
                                String name = nameOf(enter(self, size, patience));
                                synchronized (members) {
                                    members.computeIfAbsent(name, key -> new ArrayList<>())
                                            .add(self);
                                }
                                worlds++;
                            } catch (OperationTimeoutException e) {
                                continue;
                            }
                        }
                        return worlds;
                    };
            ranks.add(threads.submit(work));
        }
        for (Future<Integer> rank : ranks) {
            assertThat(rank.get(100, TimeUnit.SECONDS)).isEqualTo(worldsWanted);
        }
        assertThat(members.values())
                .hasSize(worldsWanted)
                .allSatisfy(
                        ranksOfOne -> assertThat(ranksOfOne).containsExactlyInAnyOrder(0, 1, 2, 3));
    }

    @Test
    void answersDoNotPileUp() throws Exception {
        for (int i = 0; i < 5; i++) {
            Future<String> one =
                    threads.submit(
                            () -> {
                                enter(1, 2, LONG);
                                return "";
                            });
            enter(0, 2, LONG);
            get(one);
        }
        assertThat(store.listKeys())
                .containsExactlyInAnyOrder(
                        "worlds/2/made",
                        "worlds/2/ticket/0",
                        "worlds/2/ticket/1",
                        "worlds/size/0",
                        "worlds/size/1");
    }
}

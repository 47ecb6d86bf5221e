package org.jccl.internal.diagnosis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLeftException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.internal.operation.StuckOperation;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class DesyncDetectorTest {

    private static final Logger LOGGER = Logger.getLogger(DesyncDetector.class.getName());

    private final List<String> logged = new ArrayList<>();
    private final Handler handler =
            new Handler() {
                @Override
                public void publish(LogRecord line) {
                    logged.add(line.getMessage());
                }

                @Override
                public void flush() {}

                @Override
                public void close() {}
            };

    private boolean storeIsGone;
    private int questions;
    private final DesyncDetector detector = new DesyncDetector(Optional.of(store()), 1, 2);

    /** A store whose server can end. */
    private Store store() {
        Store real = HashStore.create(enough(Duration.ofSeconds(30)));
        return (Store)
                Proxy.newProxyInstance(
                        Store.class.getClassLoader(),
                        new Class<?>[] {Store.class},
                        (proxy, method, arguments) -> {
                            questions++;
                            if (storeIsGone) {
                                throw new StoreException("the server closed the connection", null);
                            }
                            return method.invoke(real, arguments);
                        });
    }

    @BeforeEach
    void listen() {
        LOGGER.addHandler(handler);
    }

    @AfterEach
    void stopListening() {
        LOGGER.removeHandler(handler);
    }

    private Optional<JcclException> examine(StuckOperation... operations) {
        return detector.examine(List.of(operations), sequence -> List.of());
    }

    private static StuckOperation stuck() {
        return stuck(0);
    }

    private static StuckOperation stuck(int sequence) {
        FailureContext context = new FailureContext("g", 1, "barrier()", sequence);
        return new StuckOperation(
                true, "operation/" + sequence, "as operation " + sequence, "barrier()", context);
    }

    @Test
    void aStoreThatEndsAfterTheLastSlowOperationIsNotWorthAWarning() {
        assertThat(examine(stuck())).isEmpty();
        storeIsGone = true;
        assertThat(examine()).isEmpty();
        assertThat(logged).isEmpty();
    }

    @Test
    void aStoreThatEndsWhileAnOperationIsStuckIs() {
        storeIsGone = true;
        assertThat(examine(stuck())).isEmpty();
        assertThat(logged).singleElement().asString().contains("rank 1", "the store is gone");
    }

    @Test
    void aStoreThatEndsBehindARankThatLeftIsNot() {
        detector.leave();
        storeIsGone = true;
        assertThat(examine(stuck())).isEmpty();
        assertThat(logged).isEmpty();
    }

    /** A rank that times out reports what it is about, which is often itself. */
    @Test
    void aReportThatBeginsWithItsRankDoesNotNameItTwice() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(20)));
        DesyncDetector reporter = new DesyncDetector(Optional.of(shared), 1, 3);
        reporter.noteFailure(
                new OperationTimeoutException(FailureContext.NONE, "rank 1 has waited too long"));
        reporter.publish();
        assertThat(new DesyncDetector(Optional.of(shared), 0, 3).explain(lost(1)))
                .hasMessage("rank 1 has waited too long");
    }

    private static PeerLostException lost(int peer) {
        return new PeerLostException(FailureContext.NONE, "lost rank " + peer, peer);
    }

    /** Rank 3 is gone; rank 0 notices it and closes its connections, rank 1 those of rank 0. */
    @Test
    void whoLosesARankThatLostAnotherHearsOfTheOneThatIsGone() throws Exception {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        List<DesyncDetector> ranks =
                IntStream.range(0, 4)
                        .mapToObj(rank -> new DesyncDetector(Optional.of(shared), rank, 4))
                        .toList();
        // What a rank asks must be there within a moment, which a busy machine may not keep.
        CompletableFuture<JcclException> second =
                CompletableFuture.supplyAsync(
                        () -> ranks.get(0).explain(lost(3)), task -> new Thread(task).start());
        shared.await(List.of("failure/0"));
        CompletableFuture<JcclException> first =
                CompletableFuture.supplyAsync(
                        () -> ranks.get(1).explain(lost(0)), task -> new Thread(task).start());
        shared.await(List.of("failure/1"));
        CompletableFuture<JcclException> third =
                CompletableFuture.supplyAsync(
                        () -> ranks.get(2).explain(lost(1)), task -> new Thread(task).start());
        assertThat(first.get(20, TimeUnit.SECONDS))
                .isInstanceOfSatisfying(
                        PeerLostException.class, cause -> assertThat(cause.peer()).hasValue(3))
                .hasMessageContaining("rank 0 reported: lost rank 3");
        assertThat(third.get(20, TimeUnit.SECONDS)).hasMessageContaining("lost rank 3");
        JcclException own = second.get(20, TimeUnit.SECONDS);
        assertThat(own.getMessage()).isEqualTo("lost rank 3");
        // Whoever is merely stuck reads what was published, and never that it is to blame itself.
        ranks.get(1).noteFailure(lost(2));
        ranks.get(1).publish();
        assertThat(ranks.get(2).examine(List.of(stuck()), sequence -> List.of())).isEmpty();
        assertThat(ranks.get(0).examine(List.of(stuck()), sequence -> List.of()))
                .hasValueSatisfying(cause -> assertThat(cause).hasMessageContaining("lost rank 2"));
    }

    private record Member(DesyncDetector detector, AtomicLong collectives) {

        static Member of(Store shared, int rank, AtomicBoolean worldFailed) {
            AtomicLong collectives = new AtomicLong(5);
            DesyncDetector detector =
                    new DesyncDetector(
                            Optional.of(() -> shared),
                            Runnable::run,
                            rank,
                            3,
                            false,
                            new Departures(
                                    Optional.of(shared), rank, 3, worldFailed, IntStream::empty));
            detector.askWith(collectives::get, peer -> false);
            return new Member(detector, collectives);
        }

        static List<Member> three(Store shared) {
            return IntStream.range(0, 3)
                    .mapToObj(rank -> of(shared, rank, new AtomicBoolean()))
                    .toList();
        }
    }

    @Test
    void aRankThatLeftInOrderIsTheCauseOfWhatItTookNoPartIn() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        List<Member> ranks = Member.three(shared);
        ranks.get(1).detector().leave();
        Member other = ranks.get(0);
        // It took part in all five, so something else is wrong with its connection.
        assertThat(other.detector().explain(lost(1))).isInstanceOf(PeerLostException.class);
        assertThat(other.detector().examine(List.of(stuck(4)), sequence -> List.of())).isEmpty();
        other.collectives().set(6);
        assertThat(other.detector().explain(lost(1)))
                .isInstanceOfSatisfying(
                        PeerLeftException.class, left -> assertThat(left.peer()).isEqualTo(1))
                .hasMessageContaining("after 5 collectives, and this rank has issued 6");
        assertThat(other.detector().examine(List.of(stuck(5)), sequence -> List.of()))
                .hasValueSatisfying(left -> assertThat(left.exitCode()).isEqualTo(64));
    }

    /** A message may have reached a rank that has closed the group, so only its timeout says it. */
    @Test
    void positionsNameARankThatClosedTheGroup() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        List<Member> ranks = Member.three(shared);
        ranks.get(1).detector().leave();
        assertThat(ranks.get(0).detector().describePositions(FailureContext.NONE))
                .startsWith("rank 1 has closed the group; rank 2 has reported no stuck operation");
    }

    /** For instance in a split, which is counted as a collective. */
    @Test
    void aCallThatIsNoOperationEndsIfARankLeftBeforeIt() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        List<Member> ranks = Member.three(shared);
        List<JcclException> found = new ArrayList<>();
        ranks.get(1).detector().leave();
        ranks.get(0).detector().askForAbsence(found::add);
        assertThat(found).as("a rank that closed the group after the call").isEmpty();
        ranks.get(0).collectives().set(6);
        ranks.get(0).detector().askForAbsence(found::add);
        assertThat(found)
                .singleElement()
                .isInstanceOfSatisfying(
                        PeerLeftException.class, left -> assertThat(left.peer()).isEqualTo(1));
    }

    @Test
    void aRankThatDiedIsNoticedWhileAnotherOneIsWaitedFor() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        List<Member> ranks = Member.three(shared);
        Member waiting = ranks.get(0);
        waiting.detector().askWith(waiting.collectives()::get, peer -> peer > 0);
        ranks.get(1).detector().leave();
        // Rank 2 may have done its part of operation 4.
        ranks.get(2).detector().examine(List.of(stuck(3)), sequence -> List.of());
        assertThat(waiting.detector().examine(List.of(stuck(4)), sequence -> List.of())).isEmpty();
        ranks.get(2).detector().examine(List.of(stuck(4)), sequence -> List.of());
        assertThat(waiting.detector().examine(List.of(stuck(4)), sequence -> List.of()))
                .hasValueSatisfying(
                        cause ->
                                assertThat(cause)
                                        .isInstanceOf(PeerLostException.class)
                                        .hasMessageContaining("rank 2 is gone"));
        ranks.get(2).detector().leave();
        assertThat(ranks.get(0).detector().examine(List.of(stuck(4)), sequence -> List.of()))
                .isEmpty();
    }

    @Test
    void aRankThatDiedIsNotTakenForAnotherOneThatLeft() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        List<Member> ranks = Member.three(shared);
        ranks.get(1).detector().leave();
        ranks.get(0).collectives().set(6);
        assertThat(ranks.get(0).detector().explain(lost(2)))
                .isInstanceOf(PeerLostException.class)
                .hasMessage("lost rank 2");
    }

    /** A library names the rank that it lost first, which a message may have nothing to do with. */
    @Test
    void onlyItsPartnerIsMissedInAMessage() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        List<Member> ranks = Member.three(shared);
        ranks.get(1).detector().leave();
        DesyncDetector detector = ranks.get(0).detector();
        assertThat(detector.explainSoon(lost(1), 2)).isInstanceOf(PeerLostException.class);
        assertThat(detector.explainSoon(lost(1), -1)).isInstanceOf(PeerLostException.class);
        assertThat(detector.explainSoon(lost(2), 1))
                .isInstanceOf(PeerLeftException.class)
                .hasMessageContaining("rank 1 closed the group")
                .hasMessageContaining("takes no part in this send or receive");
    }

    @Test
    void aRankThatFailedDoesNotLeaveInOrderBeforeItGoesOn() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        List<Member> ranks = Member.three(shared);
        DesyncDetector failed = ranks.get(1).detector();
        failed.noteFailure(lost(2));
        failed.leave();
        ranks.get(0).collectives().set(6);
        assertThat(ranks.get(0).detector().explain(lost(1))).isInstanceOf(PeerLostException.class);
        failed.replaced();
        failed.leave();
        assertThat(ranks.get(0).detector().explain(lost(1))).isInstanceOf(PeerLeftException.class);
    }

    /** Rank 1 left; rank 0 noticed it and failed, so rank 2 loses rank 0. */
    @Test
    void whoLosesARankThatMissedAnotherHearsOfTheOneThatLeft() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        List<Member> ranks = Member.three(shared);
        ranks.get(1).detector().leave();
        ranks.forEach(rank -> rank.collectives().set(6));
        ranks.get(0).detector().noteFailure(ranks.get(0).detector().explain(lost(1)));
        ranks.get(0).detector().publish();
        assertThat(ranks.get(2).detector().explain(lost(0)))
                .isInstanceOfSatisfying(
                        PeerLeftException.class, left -> assertThat(left.peer()).isEqualTo(1));
    }

    @Test
    void theLastRankThatLeavesTidiesUp() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        for (Member rank : Member.three(shared)) {
            rank.detector().leave();
        }
        assertThat(shared.keyCount()).isZero();
    }

    @Test
    void aStoreThatIsGoneKeepsNobodyFromLeaving() {
        storeIsGone = true;
        Departures departures =
                new Departures(Optional.of(store()), 0, 2, new AtomicBoolean(), IntStream::empty);
        departures.leave(1);
        assertThat(logged).isEmpty();
    }

    @Test
    void whatAnotherProgramWroteIsNoFailure() {
        Store shared = HashStore.create(enough(Duration.ofSeconds(30)));
        DesyncDetector rank = new DesyncDetector(Optional.of(shared), 0, 2);
        for (String text : List.of("", "x", "1\nPeerLostException", "x\ny\nz\n", "1\nA\n\nb")) {
            shared.set("failure", text.getBytes(StandardCharsets.UTF_8));
            assertThat(rank.examine(List.of(stuck()), sequence -> List.of())).isEmpty();
        }
    }

    @Test
    void thousandsOfSlowOperationsAreComparedAFewAtATime() {
        StuckOperation[] many =
                IntStream.range(0, 1000)
                        .mapToObj(DesyncDetectorTest::stuck)
                        .toArray(StuckOperation[]::new);
        int most = 0;
        for (int tick = 0; tick < 20; tick++) {
            int before = questions;
            assertThat(examine(many)).isEmpty();
            most = Math.max(most, questions - before);
        }
        assertThat(most).isBetween(100, 200);
        assertThat(questions).as("all were compared").isBetween(2000, 2100);
    }
}

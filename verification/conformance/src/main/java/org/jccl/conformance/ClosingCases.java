package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.PeerLeftException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Test;

/** Groups that are closed, by one rank before the others too. */
abstract class ClosingCases extends Cases {

    private static final Duration GRACE_PERIOD = Ranks.onThisHost(10);

    /** Deadline of an operation; a rank that left is named long before it. */
    private static final Duration LEFT_IS_NOTICED_BEFORE = Ranks.onThisHost(8);

    @Test
    void aClosedGroupRefusesEverything() {
        onRanks(
                2,
                rank -> {
                    ProcessGroup group = rank.group();
                    group.sync().barrier();
                    group.close();
                    group.close();
                    for (Forms form : Forms.of(group)) {
                        List<ThrowingCallable> calls = new ArrayList<>();
                        calls.add(() -> form.allReduce(rank.floats(1), ReduceOp.SUM));
                        calls.add(() -> form.broadcast(rank.floats(1), 0));
                        calls.add(() -> form.send(rank.floats(1), 1 - rank.rank(), 0));
                        calls.add(() -> form.recv(rank.floats(1), 1 - rank.rank(), 0));
                        calls.add(form::barrier);
                        calls.add(() -> group.newGroup(List.of(0, 1)));
                        calls.add(() -> group.split(0, 0));
                        calls.add(() -> group.shrink(GRACE_PERIOD));
                        calls.add(() -> group.monitoredBarrier(Duration.ofSeconds(1), true));
                        for (ThrowingCallable call : calls) {
                            assertThatThrownBy(call)
                                    .isInstanceOf(UsageException.class)
                                    .hasMessageContaining("closed");
                        }
                    }
                    assertThat(group.rank()).isEqualTo(rank.rank());
                    assertThatCode(group::abort).doesNotThrowAnyException();
                });
    }

    @Test
    @Needs(Capability.MESSAGES)
    void closingWaitsForACallOfAnotherThread() {
        onRanks(
                2,
                rank -> {
                    rank.connect();
                    Tensor sum = rank.floats(1);
                    if (rank.rank() == 0) {
                        Tensor message = rank.floats(0);
                        rank.group().recv(message, 1).await();
                        var inside =
                                inThread(() -> rank.group().sync().allReduce(sum, ReduceOp.SUM));
                        rank.signal("inside");
                        rank.group().close();
                        Throwable thrown = outcome(inside);
                        // The thread was inside before the group closed, or it came too late.
                        assertThat(thrown == null || thrown instanceof UsageException)
                                .as("%s", thrown)
                                .isTrue();
                        rank.signal(thrown == null ? "done" : "too late");
                    } else {
                        rank.group().send(rank.floats(1), 0).await();
                        rank.awaitSignal("inside");
                        Work work = rank.group().allReduce(sum, ReduceOp.SUM);
                        while (!rank.store().check(List.of("signal/done"))
                                && !rank.store().check(List.of("signal/too late"))) {
                            Thread.onSpinWait();
                        }
                        if (rank.store().check(List.of("signal/done"))) {
                            work.await();
                            rank.expect(sum, new long[] {2}, "sum");
                        } else {
                            rank.group().abort();
                            // Reported here, or the stream reports it to its next user. The
                            // watchdog may have seen that rank 0 left before the abort.
                            assertThatThrownBy(work::synchronize)
                                    .isInstanceOfAny(
                                            GroupAbortedException.class, PeerLeftException.class);
                        }
                    }
                });
    }

    @Test
    void aSplitNamesARankThatClosesTheGroupInstead() {
        onRanks(
                2,
                rank -> {
                    if (rank.rank() == 1) {
                        rank.group().close();
                    } else {
                        assertThatThrownBy(() -> rank.group().split(0, 0))
                                .isInstanceOf(PeerLeftException.class)
                                .hasMessageContaining("rank 1 closed the group");
                    }
                });
    }

    @Test
    void closingWaitsForCollectivesThatWereIssued() {
        onRanks(
                2,
                rank -> {
                    rank.connect();
                    Tensor sum = rank.floats(1);
                    if (rank.rank() == 0) {
                        Work work = rank.group().allReduce(sum, ReduceOp.SUM);
                        rank.signal("issued");
                        rank.group().close();
                        assertThat(work.isCompleted()).isTrue();
                        work.await();
                    } else {
                        rank.awaitSignal("issued");
                        // Longer than a closing group waits for messages.
                        Thread.sleep(1500);
                        rank.group().allReduce(sum, ReduceOp.SUM).await();
                    }
                    rank.expect(sum, new long[] {2}, "sum");
                });
    }

    /** On devices awaiting orders streams and returns, so the message may be on its way. */
    @Test
    @Needs(Capability.MESSAGES)
    void closingWaitsForMessagesThatWereAwaited() {
        onRanks(
                2,
                rank -> {
                    rank.connect();
                    Tensor first = rank.floats(1);
                    Tensor second = rank.floats(1);
                    if (rank.rank() == 0) {
                        Work receive = rank.group().recv(first, 1);
                        rank.signal("issued");
                        receive.await();
                        rank.group().sync().recv(second, 1);
                        rank.group().close();
                        rank.expect(first, new long[] {3}, "message that was awaited");
                        rank.expect(second, new long[] {4}, "synchronous message");
                    } else {
                        rank.awaitSignal("issued");
                        for (long value = 3; value <= 4; value++) {
                            // Longer than a closing group waits for other messages.
                            Thread.sleep(1500);
                            rank.group().send(rank.floats(value), 0).await();
                        }
                    }
                });
    }

    @Test
    @Needs(Capability.MESSAGES)
    void closingGivesUpMessagesWithoutPartner() {
        onRanks(
                2,
                rank -> {
                    rank.connect();
                    if (rank.rank() == 0) {
                        Work receive = rank.group().recv(rank.floats(1), 1);
                        Work second =
                                rank.has(Capability.ANY_SOURCE)
                                        ? rank.group().recvAnySource(rank.floats(1), 2)
                                        : rank.group().recv(rank.floats(1), 1);
                        long start = System.nanoTime();
                        rank.group().close();
                        // Collectives are waited for that long, messages a moment.
                        assertThat(System.nanoTime() - start)
                                .isLessThan(Ranks.TIMEOUT.toNanos() / 2);
                        assertThatThrownBy(receive::synchronize)
                                .isInstanceOf(GroupAbortedException.class)
                                .hasMessageContaining(
                                        "closed while sends or receives were in flight");
                        assertThat(second.isCompleted()).isTrue();
                        rank.signal("closed");
                    } else {
                        rank.awaitSignal("closed");
                    }
                });
    }

    @Test
    @Needs(Capability.STUCK_MISMATCHES)
    void aRankThatLeavesEarlyIsNamed() {
        onRanks(
                3,
                rank -> {
                    rank.connect();
                    if (rank.rank() == 1) {
                        rank.group().close();
                        return;
                    }
                    assertThat(failureOfASum(rank))
                            .isInstanceOfSatisfying(
                                    PeerLeftException.class,
                                    left -> {
                                        assertThat(left.peer()).isEqualTo(1);
                                        assertThat(left.exitCode()).isEqualTo(64);
                                    })
                            .hasMessageContaining("rank 1 closed the group")
                            .hasMessageContaining("unevenInputs(true)")
                            .satisfies(thrown -> agrees(rank, thrown));
                    // What comes later fails for the same reason, so the exit code is the same.
                    assertThatThrownBy(() -> rank.group().allReduce(rank.floats(1), ReduceOp.SUM))
                            .isInstanceOfSatisfying(
                                    GroupAbortedException.class,
                                    later -> assertThat(later.exitCode()).isEqualTo(64));
                });
    }

    @Test
    @Needs(Capability.STUCK_MISMATCHES)
    void aRankThatFailedIsNotTakenForOneThatLeft() {
        onRanks(
                3,
                rank -> {
                    rank.connect();
                    if (rank.rank() == 1) {
                        rank.group().abort();
                        rank.group().close();
                        return;
                    }
                    assertThat(failureOfASum(rank))
                            .isInstanceOf(JcclException.class)
                            .isNotInstanceOf(PeerLeftException.class)
                            .isInstanceOfSatisfying(
                                    JcclException.class,
                                    lost -> assertThat(lost.exitCode()).isEqualTo(75));
                });
    }

    /** A program that ends because one of its groups failed closes the others in order. */
    @Test
    @Needs(Capability.STUCK_MISMATCHES)
    void aRankOfWhichAnotherGroupFailedIsNotTakenForOneThatLeft() {
        backend()
                .ranks()
                .run(
                        3,
                        LEFT_IS_NOTICED_BEFORE,
                        rank -> {
                            rank.connect();
                            ProcessGroup sub =
                                    rank.group().newGroup(List.of(0, 1, 2)).orElseThrow();
                            if (rank.rank() == 1) {
                                sub.abort();
                                sub.close();
                                rank.group().close();
                                return;
                            }
                            assertThat(failureOfASum(rank))
                                    .isInstanceOf(JcclException.class)
                                    .isNotInstanceOf(PeerLeftException.class);
                            sub.abort();
                            sub.close();
                        });
    }

    private static Throwable failureOfASum(Rank rank) {
        return catchThrowable(
                () -> rank.group().allReduce(rank.floats(1), ReduceOp.SUM).synchronize());
    }

    @Test
    void closingFromSeveralThreadsIsFine() {
        onRanks(
                2,
                rank -> {
                    rank.group().sync().barrier();
                    List<CompletableFuture<Throwable>> closers = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        closers.add(inThread(rank.group()::close));
                        closers.add(inThread(rank.group()::abort));
                    }
                    for (CompletableFuture<Throwable> closer : closers) {
                        assertThat(outcome(closer)).isNull();
                    }
                });
    }
}

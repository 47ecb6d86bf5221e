package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLeftException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Ranks that do not come, groups that are aborted or closed. */
@Execution(ExecutionMode.CONCURRENT)
abstract class FailureCases extends Cases {

    private static final Duration SHORT = Ranks.onThisHost(2);

    /** Longer than the other ranks need to notice that one is gone. */
    private static final Duration PATIENCE = Ranks.onThisHost(10);

    private static final String[] ABSENT = {
        "allReduce(float32 x 1, SUM)", "rank 2 has not said that it waits"
    };

    private static CompletableFuture<Throwable> inThread(ThrowingCallable action) {
        CompletableFuture<Throwable> outcome = new CompletableFuture<>();
        Thread thread = new Thread(() -> outcome.complete(catchThrowable(action)), "inside");
        thread.setDaemon(true);
        thread.start();
        return outcome;
    }

    private static Throwable outcome(CompletableFuture<Throwable> thread) throws Exception {
        return thread.get(Ranks.onThisHost(20).toMillis(), TimeUnit.MILLISECONDS);
    }

    @Test
    void anAbsentRankIsNamedAtTheDeadline() {
        withoutRankTwo(
                rank -> rank.group().allReduce(rank.floats(1), ReduceOp.SUM).synchronize(), ABSENT);
    }

    @Test
    @Needs(Capability.BLOCKING_CALLS)
    void anAbsentRankIsNamedAtTheDeadlineOfASynchronousCall() {
        withoutRankTwo(rank -> rank.group().sync().allReduce(rank.floats(1), ReduceOp.SUM), ABSENT);
    }

    @Test
    void anAwaitedResultIsNotReadWhenItsWorkFails() {
        withoutRankTwo(
                rank -> {
                    Tensor sum = rank.floats(1);
                    rank.group().allReduce(sum, ReduceOp.SUM).await();
                    rank.backend().read(sum);
                },
                ABSENT);
    }

    @Test
    void aBarrierThatARankMissesEndsAtTheDeadline() {
        withoutRankTwo(rank -> Forms.of(rank.group()).get(rank.rank()).barrier(), "barrier");
    }

    private void withoutRankTwo(Ranks.Body call, String... words) {
        backend()
                .ranks()
                .run(
                        3,
                        SHORT,
                        rank -> {
                            rank.connect();
                            if (rank.rank() == 2) {
                                rank.awaitSignal("failed on 0");
                                rank.awaitSignal("failed on 1");
                                return;
                            }
                            assertThatThrownBy(() -> call.run(rank))
                                    .isInstanceOf(OperationTimeoutException.class)
                                    .hasMessageContaining("rank " + rank.rank())
                                    .hasMessageContainingAll(words);
                            rank.signal("failed on " + rank.rank());
                        });
    }

    @Test
    @Needs(Capability.MESSAGES)
    void aMessageThatIsNeverSentEndsAtTheDeadline() {
        backend()
                .ranks()
                .run(
                        2,
                        SHORT,
                        rank -> {
                            rank.connect();
                            if (rank.rank() == 1) {
                                rank.awaitSignal("failed");
                                return;
                            }
                            Work named = rank.group().recv(rank.floats(1), 1, rank.tag(8));
                            Work second =
                                    rank.has(Capability.ANY_SOURCE)
                                            ? rank.group().recvAnySource(rank.floats(1), 9)
                                            : rank.group().recv(rank.floats(1), 1);
                            assertThatThrownBy(named::synchronize)
                                    .isInstanceOf(OperationTimeoutException.class)
                                    .hasMessageContaining("recv(float32 x 1");
                            assertThatThrownBy(second::synchronize)
                                    .isInstanceOf(JcclException.class);
                            assertThat(named.isCompleted()).isTrue();
                            assertThat(named.exception()).isPresent();
                            assertThat(named.toFuture()).isCompletedExceptionally();
                            rank.signal("failed");
                        });
    }

    @Test
    @Needs(Capability.BLOCKING_CALLS)
    void abortWakesWhoIsInside() {
        onRanks(
                2,
                rank -> {
                    if (rank.rank() == 1) {
                        rank.signal("ready");
                        rank.awaitSignal("woken");
                        return;
                    }
                    var inside =
                            inThread(
                                    () ->
                                            rank.group()
                                                    .sync()
                                                    .allReduce(rank.floats(1), ReduceOp.SUM));
                    rank.awaitSignal("ready");
                    rank.group().abort();
                    assertThat(outcome(inside))
                            .isInstanceOf(GroupAbortedException.class)
                            .hasMessageContaining("abort() was called");
                    rank.signal("woken");
                });
    }

    @Test
    @Needs(Capability.MESSAGES)
    void abortEndsWorksAndLaterCallsCarryTheFirstCause() {
        onRanks(
                2,
                rank -> {
                    rank.connect();
                    ProcessGroup group = rank.group();
                    if (rank.rank() == 0) {
                        Work receive = group.recv(rank.floats(1), 1);
                        Work queued = group.allReduce(rank.floats(1), ReduceOp.SUM);
                        rank.awaitSignal("ready");
                        group.abort();
                        for (Work work : List.of(receive, queued)) {
                            assertThatThrownBy(work::synchronize).isInstanceOf(JcclException.class);
                        }
                    } else {
                        rank.signal("ready");
                        // This rank's operation needs rank 0 and fails with it.
                        assertThatThrownBy(
                                        () ->
                                                group.recv(rank.floats(1), 0)
                                                        .await(Ranks.onThisHost(20)))
                                .isInstanceOf(JcclException.class)
                                .isNotInstanceOf(OperationTimeoutException.class);
                    }
                    assertThatThrownBy(() -> group.allReduce(rank.floats(1), ReduceOp.SUM))
                            .isInstanceOf(GroupAbortedException.class)
                            .hasMessageContaining("the group failed before")
                            .hasCauseInstanceOf(JcclException.class);
                    assertThatThrownBy(() -> group.sync().barrier())
                            .isInstanceOf(GroupAbortedException.class);
                    assertThatThrownBy(() -> group.send(rank.floats(1), 1 - rank.rank()))
                            .isInstanceOf(GroupAbortedException.class);
                    group.abort();
                });
    }

    @Test
    void afterAFailureRanksBuildANewWorld() {
        for (int i = 0; i < 2; i++) {
            onRanks(
                    2,
                    rank -> {
                        Tensor sum = rank.floats(1);
                        rank.group().allReduce(sum, ReduceOp.SUM).await();
                        rank.expect(sum, new long[] {2}, "sum");
                        rank.group().abort();
                    });
        }
    }

    @Test
    @Needs(Capability.SURVIVORS)
    void theRanksThatAreLeftGoOn() {
        onRanks(
                3,
                rank -> {
                    rank.connect();
                    if (rank.rank() == 1) {
                        rank.group().abort();
                        rank.awaitSignal("gone on");
                        assertThatThrownBy(() -> rank.group().shrink(PATIENCE))
                                .isInstanceOf(GroupAbortedException.class)
                                .hasMessageContaining("ranks [0, 2] went on without this one");
                        return;
                    }
                    assertThatThrownBy(
                                    () ->
                                            rank.group()
                                                    .allReduce(rank.floats(1), ReduceOp.SUM)
                                                    .synchronize())
                            .isInstanceOf(JcclException.class);
                    try (ProcessGroup left = rank.group().shrink(PATIENCE)) {
                        assertThat(left.worldRanks()).containsExactly(0, 2);
                        assertThat(left.rank()).isEqualTo(rank.rank() / 2);
                        expectTwo(rank, left);
                        try (ProcessGroup sub = left.newGroup(List.of(1, 0)).orElseThrow()) {
                            expectTwo(rank, sub);
                        }
                        // Nobody is missing now.
                        try (ProcessGroup again = left.shrink(Ranks.TIMEOUT)) {
                            assertThat(again.worldRanks()).containsExactly(0, 2);
                            expectTwo(rank, again);
                            assertThatThrownBy(() -> left.sync().barrier())
                                    .isInstanceOf(GroupAbortedException.class);
                        }
                    }
                    rank.signal("gone on");
                });
    }

    private static void expectTwo(Rank rank, ProcessGroup group) {
        Tensor sum = rank.floats(1);
        group.allReduce(sum, ReduceOp.SUM).await();
        rank.expect(sum, new long[] {2}, "sum in " + group);
        Tensor sent = rank.floats(7 + group.rank());
        group.broadcast(sent, 1).await();
        rank.expect(sent, new long[] {8}, "of the last rank");
    }

    @Test
    @Needs(Capability.SURVIVORS)
    void aRankMayBeLeftAlone() {
        onRanks(
                2,
                rank -> {
                    if (rank.rank() == 0) {
                        rank.awaitSignal("alone");
                        return;
                    }
                    try (ProcessGroup alone = rank.group().shrink(Duration.ofMillis(200))) {
                        assertThat(alone.worldRanks()).containsExactly(1);
                        Tensor sum = rank.floats(5);
                        alone.allReduce(sum, ReduceOp.SUM).await();
                        rank.expect(sum, new long[] {5}, "sum of one");
                    }
                    rank.signal("alone");
                });
    }

    @Test
    void shrinkingIsRefusedWithoutHarm() {
        onRanks(
                2,
                rank -> {
                    ProcessGroup group = rank.group();
                    for (Duration wrong :
                            new Duration[] {null, Duration.ZERO, Duration.ofDays(2)}) {
                        assertThatThrownBy(() -> group.shrink(wrong))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("patience");
                    }
                    if (!rank.has(Capability.SURVIVORS)) {
                        assertThatThrownBy(() -> group.shrink(PATIENCE))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("from a checkpoint");
                    }
                    Tensor sum = rank.floats(1);
                    group.allReduce(sum, ReduceOp.SUM).await();
                    rank.expect(sum, new long[] {2}, "sum");
                });
    }

    @Test
    void abortingASubGroupLeavesTheWorldUsable() {
        onRanks(
                2,
                rank -> {
                    try (ProcessGroup sub = rank.group().newGroup(List.of(0, 1)).get()) {
                        sub.abort();
                        assertThatThrownBy(() -> sub.sync().barrier())
                                .isInstanceOf(GroupAbortedException.class);
                    }
                    rank.group().sync().barrier();
                });
    }

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
                        calls.add(() -> group.shrink(PATIENCE));
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
    void aFailedGroupMakesNoSubGroups() {
        onRanks(
                2,
                rank -> {
                    rank.group().abort();
                    assertThatThrownBy(() -> rank.group().newGroup(List.of(0, 1)))
                            .isInstanceOf(GroupAbortedException.class);
                    assertThatThrownBy(() -> rank.group().split(0, 0))
                            .isInstanceOf(GroupAbortedException.class);
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
                            // Told of it here, or the stream tells the next group that uses it.
                            assertThatThrownBy(work::synchronize)
                                    .isInstanceOf(GroupAbortedException.class);
                        }
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
                                .hasMessageContaining("closed while messages were outstanding");
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
                            .hasMessageContaining("rank 1 left the group in order")
                            .hasMessageContaining("unevenInputs(true)");
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
        onRanks(
                3,
                rank -> {
                    rank.connect();
                    ProcessGroup sub = rank.group().newGroup(List.of(0, 1, 2)).orElseThrow();
                    if (rank.rank() == 1) {
                        sub.abort();
                        sub.close();
                        rank.group().close();
                        return;
                    }
                    assertThat(failureOfASum(rank)).isNotInstanceOf(PeerLeftException.class);
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

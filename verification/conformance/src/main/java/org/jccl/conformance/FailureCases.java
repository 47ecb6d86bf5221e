package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Test;

/** Ranks that do not come, groups that are aborted. */
abstract class FailureCases extends Cases {

    private static final Duration SHORT = Ranks.onThisHost(2);

    /** Longer than the other ranks need to notice that one is gone. */
    private static final Duration GRACE_PERIOD = Ranks.onThisHost(10);

    private static final String[] ABSENT = {
        "allReduce(float32 x 1, SUM)", "rank 2 has reported no stuck operation"
    };

    @Test
    void anAbsentRankIsNamedAtTheDeadline() {
        withoutRankTwo(
                rank -> rank.group().allReduce(rank.floats(1), ReduceOp.SUM).synchronize(), ABSENT);
    }

    @Test
    @Needs({Capability.BLOCKING_CALLS, Capability.ENDING_CALLS})
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
        withoutRankTwo(
                rank -> {
                    int form = rank.has(Capability.ENDING_CALLS) ? rank.rank() : 0;
                    Forms.of(rank.group()).get(form).barrier();
                },
                "barrier");
    }

    @Test
    @Needs({Capability.BLOCKING_CALLS, Capability.ENDING_CALLS})
    void anOperationMayHaveLessTimeThanItsGroup() {
        onRanks(
                2,
                rank -> {
                    if (rank.rank() == 1) {
                        rank.awaitSignal("failed");
                        return;
                    }
                    var call = rank.group().sync(Duration.ofMillis(300));
                    assertThatThrownBy(() -> call.broadcast(rank.floats(1), 1))
                            .isInstanceOf(OperationTimeoutException.class)
                            .hasMessageContainingAll("broadcast(", "not complete after 300 ms");
                    rank.signal("failed");
                });
    }

    @Test
    @Needs(Capability.BLOCKING_CALLS)
    void anOperationMayHaveMoreTimeThanItsGroup() {
        Duration ofGroup = Ranks.onThisHost(1);
        backend()
                .ranks()
                .run(
                        2,
                        ofGroup,
                        rank -> {
                            rank.connect();
                            Tensor request = rank.floats(rank.rank() == 1 ? 7 : 0);
                            if (rank.rank() == 1) {
                                Thread.sleep(3 * ofGroup.toMillis());
                            }
                            rank.group()
                                    .sync(ChronoUnit.FOREVER.getDuration())
                                    .broadcast(request, 1);
                            rank.expect(request, new long[] {7}, "request");
                            rank.group().sync().allReduce(request, ReduceOp.SUM);
                            rank.expect(request, new long[] {14}, "sum");
                        });
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
                                    .hasMessageContainingAll(words)
                                    .satisfies(Cases::showsTheCaller)
                                    .satisfies(thrown -> agrees(rank, thrown));
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
    @Needs({Capability.BLOCKING_CALLS, Capability.ENDING_CALLS})
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
    void aMonitoredBarrierEndsWhenAnotherRankAborts() {
        onRanks(
                2,
                rank -> {
                    if (rank.rank() == 0) {
                        rank.awaitSignal("ready");
                        rank.group().abort();
                        return;
                    }
                    rank.signal("ready");
                    assertThatThrownBy(
                                    () -> rank.group().monitoredBarrier(Ranks.onThisHost(60), true))
                            .isInstanceOf(GroupAbortedException.class)
                            .hasMessageContainingAll("rank 0 reported", "abort() was called");
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
                    assertThat(group.failure()).isPresent();
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
                        assertThatThrownBy(() -> rank.group().shrink(GRACE_PERIOD))
                                .isInstanceOf(GroupAbortedException.class)
                                .hasMessageContaining("ranks [0, 2] continued without this one");
                        return;
                    }
                    assertThatThrownBy(
                                    () ->
                                            rank.group()
                                                    .allReduce(rank.floats(1), ReduceOp.SUM)
                                                    .synchronize())
                            .isInstanceOf(JcclException.class);
                    try (ProcessGroup left = rank.group().shrink(GRACE_PERIOD)) {
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
                                .hasMessageContaining("grace period");
                    }
                    if (!rank.has(Capability.SURVIVORS)) {
                        assertThatThrownBy(() -> group.shrink(GRACE_PERIOD))
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
}

package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.WaitTimeoutException;
import org.jccl.Work;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a work promises, and the order of operations. */
abstract class WorkCases extends Cases {

    private static final int MANY = 1000;

    @Tag(ConformanceTest.NEW_WORLD)
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void manyOutstandingWorksAreAwaitedInAnyOrder(int size) {
        onRanks(
                size,
                rank -> {
                    List<Tensor> tensors = new ArrayList<>();
                    List<Work> works = new ArrayList<>();
                    for (int i = 0; i < MANY; i++) {
                        tensors.add(rank.tensor(DataType.INT32, i, rank.rank()));
                        works.add(rank.group().allReduce(tensors.get(i), ReduceOp.SUM));
                        assertThat(works.get(i).sequence()).isEqualTo(i);
                    }
                    List<Work> shuffled = new ArrayList<>(works);
                    Collections.shuffle(shuffled, new Random(rank.rank()));
                    shuffled.forEach(Work::await);
                    for (int i = 0; i < MANY; i++) {
                        long[] expected = {(long) size * i, size * (size - 1L) / 2};
                        rank.expect(tensors.get(i), expected, "work " + i);
                    }
                });
    }

    @Test
    @Needs(Capability.MESSAGES)
    void manyOutstandingMessagesAreAwaitedInAnyOrder() {
        onRanks(
                2,
                rank -> {
                    boolean bothWays = rank.has(Capability.ANY_ORDER);
                    boolean receives = bothWays || rank.rank() == 1;
                    int peer = 1 - rank.rank();
                    List<Tensor> got = new ArrayList<>();
                    List<Work> works = new ArrayList<>();
                    for (int i = 0; i < MANY; i++) {
                        if (receives) {
                            got.add(rank.blank(DataType.INT32, 1));
                            works.add(rank.group().recv(got.get(i), peer, rank.tag(i % 7)));
                        }
                        if (bothWays || !receives) {
                            Tensor message = rank.tensor(DataType.INT32, i);
                            works.add(rank.group().send(message, peer, rank.tag(i % 7)));
                        }
                    }
                    Collections.shuffle(works, new Random(rank.rank()));
                    works.forEach(Work::await);
                    for (int i = 0; i < got.size(); i++) {
                        rank.expect(got.get(i), new long[] {i}, "message " + i);
                    }
                });
    }

    @Test
    void worksThatNobodyAwaitsCompleteAndLetGoOfTheirMemory() {
        onRanks(
                2,
                rank -> {
                    Tensor sum = rank.floats(1);
                    Work dropped = rank.group().allReduce(sum, ReduceOp.SUM);
                    dropped.toFuture().get(20, TimeUnit.SECONDS);
                    assertThat(dropped.isCompleted()).isTrue();
                    assertThat(dropped.exception()).isEmpty();
                    rank.expect(sum, new long[] {2}, "sum");
                });
    }

    @Test
    @Needs(Capability.MESSAGES)
    void messagesThatNobodyAwaitsComplete() {
        onRanks(
                2,
                rank -> {
                    int peer = 1 - rank.rank();
                    List<Work> works =
                            rank.group()
                                    .batch()
                                    .send(rank.floats(1), peer, 0)
                                    .recv(rank.floats(1), peer, 0)
                                    .issue();
                    for (Work work : works) {
                        work.toFuture().get(20, TimeUnit.SECONDS);
                    }
                    assertThat(works.get(1).sourceRank()).isEqualTo(peer);
                });
    }

    /** A forgotten await must not give the number of before the operation. */
    @Test
    void hostTensorsOfAWorkInFlightAreNeitherReadNorWritten() {
        Assumptions.assumeTrue(
                backend().deviceType().equals("cpu"), "streams order copies of device tensors");
        onRanks(
                2,
                rank -> {
                    Tensor sum = rank.floats(1, 2, 3, 4);
                    Tensor go = rank.floats(0);
                    if (rank.rank() == 1) {
                        rank.group().sync().recv(go, 0, 0);
                        rank.group().sync().allReduce(sum.slice(0, 2), ReduceOp.SUM);
                        rank.group().sync().send(go, 0, 0);
                        rank.group().sync().recv(sum, 0, 0);
                        return;
                    }
                    Work work = rank.group().allReduce(sum.slice(0, 2), ReduceOp.SUM);
                    Tensor other = rank.floats(0, 0, 0, 0);
                    assertInFlight("allReduce(float32 x 2, SUM)", () -> sum.copyTo(new float[1]));
                    assertInFlight("write", () -> sum.slice(1, 1).copyFrom(new float[1]));
                    assertInFlight("read", () -> other.copyFrom(sum));
                    assertInFlight("write", () -> sum.copyFrom(other));
                    assertThat(sum.slice(2, 2).copyTo(new float[2])).containsExactly(3, 4);
                    rank.group().sync().send(go, 1, 0);
                    work.await();
                    rank.expect(sum, new long[] {2, 4, 3, 4}, "sum");

                    Work receive = rank.group().recv(go, 1, 0);
                    receive.await();
                    Work send = rank.group().send(sum, 1, 0);
                    rank.expect(sum, new long[] {2, 4, 3, 4}, "what is sent may be read");
                    send.await();
                });
    }

    /** On devices too, where a stream that does not wait would read early without any error. */
    @Test
    void tensorsOfAWorkThatNobodyAwaitedAreNeitherReadNorWritten() {
        onRanks(
                2,
                rank -> {
                    Tensor sum = rank.floats(1, 2, 3, 4);
                    Tensor other = rank.floats(0, 0, 0, 0);
                    // Peers are connected by the first collective, which may block.
                    rank.group().allReduce(other, ReduceOp.SUM).synchronize();
                    if (rank.rank() == 0) {
                        Work work = rank.group().allReduce(sum.slice(0, 2), ReduceOp.SUM);
                        assertInFlight(
                                "allReduce(float32 x 2, SUM)", () -> sum.copyTo(new float[1]));
                        assertInFlight("write", () -> sum.slice(1, 1).copyFrom(new float[1]));
                        assertInFlight("read", () -> other.copyFrom(sum));
                        assertInFlight("write", () -> sum.copyFrom(other));
                        assertThat(sum.slice(2, 2).copyTo(new float[2])).containsExactly(3, 4);
                        rank.group().monitoredBarrier(Ranks.onThisHost(60), true);
                        work.await();
                    } else {
                        rank.group().monitoredBarrier(Ranks.onThisHost(60), true);
                        rank.group().allReduce(sum.slice(0, 2), ReduceOp.SUM).await();
                    }
                    rank.expect(sum, new long[] {2, 4, 3, 4}, "sum");
                });
    }

    private static void assertInFlight(String part, ThrowingCallable use) {
        assertThatThrownBy(use)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("has not completed")
                .hasMessageContaining("await()")
                .hasMessageContaining(part);
    }

    /** On devices this is in the order of the stream, and nobody waits for it. */
    @Test
    void whatAnAwaitedWorkWroteIsCopied() {
        onRanks(
                2,
                rank -> {
                    Tensor copy = rank.filled(1000, 0);
                    for (int i = 1; i <= 20; i++) {
                        Tensor tensor = rank.filled(1000, i);
                        rank.group().allReduce(tensor, ReduceOp.SUM).await();
                        copy.slice(0, 500).copyFrom(tensor.slice(500, 500));
                        copy.slice(500, 500).copyFrom(tensor.slice(0, 500));
                        rank.expect(copy, rank.backend().read(rank.filled(1000, 2 * i)), "copy");
                    }
                    try (Tensor onHost = Tensor.allocate(Device.CPU, DataType.FLOAT32, 1000)) {
                        onHost.copyFrom(copy);
                        copy.copyFrom(rank.filled(1000, 7)).copyFrom(onHost);
                        rank.expect(copy, rank.backend().read(rank.filled(1000, 40)), "and back");
                    }
                });
    }

    @Test
    void futuresCanBeChained() {
        onRanks(
                2,
                rank -> {
                    Tensor sum = rank.floats(1);
                    CompletableFuture<byte[]> read =
                            rank.group()
                                    .allReduce(sum, ReduceOp.SUM)
                                    .toFuture()
                                    .thenApply(done -> rank.backend().read(sum));
                    assertThat(Elements.decode(DataType.FLOAT32, read.get(20, TimeUnit.SECONDS)))
                            .containsExactly(2);
                });
    }

    @Test
    void cancellingAFutureDoesNothingToTheWork() {
        onRanks(
                2,
                rank -> {
                    Tensor sum = rank.floats(1);
                    Work work = rank.group().allReduce(sum, ReduceOp.SUM);
                    work.toFuture().cancel(true);
                    work.await();
                    assertThat(work.toFuture()).isNotCancelled();
                    rank.expect(sum, new long[] {2}, "sum");
                });
    }

    @Test
    @Needs(Capability.MESSAGES)
    void awaitWithATimeoutGivesUpAndCanBeRepeated() {
        onRanks(
                2,
                rank -> {
                    rank.connect();
                    Tensor sum = rank.floats(1);
                    Tensor message = rank.floats(4);
                    if (rank.rank() == 0) {
                        Work reduction = rank.group().allReduce(sum, ReduceOp.SUM);
                        Work receive = rank.group().recv(message, 1);
                        for (Work work : List.of(reduction, receive)) {
                            assertThatThrownBy(() -> work.await(Duration.ofMillis(20)))
                                    .isInstanceOf(WaitTimeoutException.class)
                                    .hasMessageContaining("rank 0");
                            assertThatThrownBy(() -> work.await(Duration.ZERO))
                                    .isInstanceOf(WaitTimeoutException.class);
                            assertThat(work.isCompleted()).isFalse();
                            assertThat(work.exception()).isEmpty();
                        }
                        rank.signal("gave up");
                        reduction.await(Ranks.onThisHost(20));
                        receive.await(Ranks.onThisHost(20));
                    } else {
                        rank.awaitSignal("gave up");
                        rank.group().allReduce(sum, ReduceOp.SUM).await();
                        rank.group().send(rank.floats(8), 0).await();
                        message = rank.floats(8);
                    }
                    rank.expect(sum, new long[] {2}, "sum");
                    rank.expect(message, new long[] {8}, "message");
                });
    }

    @Test
    void awaitingTwiceAndFromSeveralThreadsIsFine() {
        onRanks(
                2,
                rank -> {
                    Tensor sum = rank.floats(1);
                    Work work = rank.group().allReduce(sum, ReduceOp.SUM);
                    List<CompletableFuture<Void>> waiters = new ArrayList<>();
                    for (int i = 0; i < 4; i++) {
                        waiters.add(CompletableFuture.runAsync(work::await));
                    }
                    for (CompletableFuture<Void> waiter : waiters) {
                        waiter.get(20, TimeUnit.SECONDS);
                    }
                    work.await();
                    work.synchronize();
                    rank.expect(sum, new long[] {2}, "sum");
                });
    }

    @Test
    void waitingIgnoresInterruptsAndKeepsTheFlag() {
        onRanks(
                2,
                rank -> {
                    Tensor sum = rank.floats(1);
                    Work work = rank.group().allReduce(sum, ReduceOp.SUM);
                    Thread.currentThread().interrupt();
                    work.await();
                    assertThat(Thread.interrupted()).isTrue();
                    rank.expect(sum, new long[] {2}, "sum");
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void aBarrierEndsAfterTheCollectivesIssuedBefore(int size) {
        onRanks(
                size,
                rank -> {
                    List<Work> works = new ArrayList<>();
                    for (int i = 0; i < 20; i++) {
                        works.add(rank.group().allReduce(rank.filled(LARGE, 1), ReduceOp.SUM));
                    }
                    rank.group().barrier().await();
                    assertThat(works).allMatch(Work::isCompleted);
                });
    }

    @Test
    void aBarrierEndsNotBeforeTheLastRankArrives() {
        onRanks(
                3,
                rank -> {
                    for (Forms form : Forms.of(rank.group())) {
                        if (rank.rank() == 2) {
                            rank.signal("last arrives, " + form);
                        }
                        form.barrier();
                        assertThat(rank.store().check(List.of("signal/last arrives, " + form)))
                                .isTrue();
                    }
                });
    }

    @Test
    void aSynchronousCallRunsAfterWhatWasIssuedBefore() {
        onRanks(
                2,
                rank -> {
                    List<Tensor> tensors = new ArrayList<>();
                    List<Work> works = new ArrayList<>();
                    for (int i = 0; i < 20; i++) {
                        tensors.add(rank.floats(i));
                        works.add(rank.group().allReduce(tensors.get(i), ReduceOp.SUM));
                    }
                    tensors.add(rank.floats(20));
                    if (rank.rank() == 0) {
                        rank.group().sync().allReduce(tensors.get(20), ReduceOp.SUM);
                    } else {
                        rank.group().allReduce(tensors.get(20), ReduceOp.SUM).await();
                    }
                    works.forEach(Work::await);
                    for (int i = 0; i <= 20; i++) {
                        rank.expect(tensors.get(i), new long[] {2L * i}, "collective " + i);
                    }
                });
    }

    @Tag(ConformanceTest.NEW_WORLD)
    @Test
    void sequenceNumbersCountTheCollectivesOfEachGroup() {
        onRanks(
                2,
                rank -> {
                    assertThat(rank.group().barrier().sequence()).isZero();
                    rank.group().sync().barrier();
                    Work third = rank.group().allReduce(rank.floats(1), ReduceOp.SUM);
                    assertThat(third.sequence()).isEqualTo(2);
                    third.await();
                    try (var sub = rank.group().newGroup(List.of(0, 1)).orElseThrow()) {
                        Work first = sub.barrier();
                        assertThat(first.sequence()).isZero();
                        first.await();
                    }
                });
    }

    @Test
    void aTensorClosedWhileInUseLivesUntilItsWorkIsDone() {
        onRanks(
                2,
                rank -> {
                    Tensor mine = rank.blank(DataType.FLOAT32, 1000);
                    Tensor sum = rank.floats(1);
                    Work move = rank.group().broadcast(mine, 0);
                    mine.close();
                    rank.group().allReduce(sum, ReduceOp.SUM).await();
                    move.await();
                    rank.expect(sum, new long[] {2}, "sum");
                });
    }

    /** Not every vendor's free waits for what a stream has still to do. */
    @Test
    void aTensorClosedAfterASynchronousCallLivesUntilItIsDone() {
        onRanks(
                2,
                rank -> {
                    long[] ones = new long[1000];
                    Arrays.fill(ones, 1);
                    for (int i = 0; i < 50; i++) {
                        Tensor moved = rank.filled(1000, 7);
                        rank.group().sync().broadcast(moved, 0);
                        moved.close();
                        // In its place, if it was freed.
                        Tensor other = rank.floats(ones);
                        rank.expect(other, ones, "another tensor");
                        other.close();
                    }
                    Tensor sum = rank.floats(1);
                    rank.group().allReduce(sum, ReduceOp.SUM).await();
                    rank.expect(sum, new long[] {2}, "sum");
                });
    }

    /** The same for copies, whose memory no group knows of. */
    @Test
    void tensorsClosedAfterACopyLiveUntilItIsDone() {
        onRanks(
                2,
                rank -> {
                    long[] sevens = new long[1000];
                    Arrays.fill(sevens, 7);
                    for (int i = 0; i < 50; i++) {
                        Tensor last = rank.filled(1000, 0);
                        Tensor first = rank.filled(1000, 7);
                        Tensor between = rank.filled(1000, 1);
                        // So that the stream has something to do before the copies.
                        rank.group().sync().broadcast(first, 0);
                        between.copyFrom(first);
                        first.close();
                        last.copyFrom(between);
                        between.close();
                        rank.expect(last, sevens, "copy");
                        last.close();
                    }
                });
    }
}

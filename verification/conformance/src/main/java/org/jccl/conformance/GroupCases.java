package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.OperationTimeoutException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Worlds, sub-groups, splits and the monitored barrier. */
abstract class GroupCases extends Cases {

    private static void expectSum(Rank rank, ProcessGroup group, long expected) {
        Tensor tensor = rank.floats(1 + rank.rank());
        group.allReduce(tensor, ReduceOp.SUM).await();
        rank.expect(tensor, new long[] {expected}, "sum in " + group);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void aWorldKnowsItself(int size) {
        onRanks(
                size,
                rank -> {
                    ProcessGroup world = rank.group();
                    assertThat(world.size()).isEqualTo(size);
                    assertThat(world.name()).isEqualTo("world");
                    assertThat(world.worldRanks()).hasSize(size).contains(world.rank());
                    assertThat(world.backend(rank.backend().deviceType())).isPresent();
                    assertThat(world.backend("abacus")).isEmpty();
                    assertThat(world.toString()).contains("rank " + rank.rank() + " of " + size);
                });
    }

    @Test
    void worldsComeAndGo() {
        for (int i = 0; i < 5; i++) {
            onRanks(2, rank -> expectSum(rank, rank.group(), 3));
        }
    }

    @Test
    void onlyMembersMakeAGroup() {
        onRanks(
                4,
                rank -> {
                    Optional<ProcessGroup> made = rank.group().newGroup(List.of(3, 1));
                    if (rank.rank() % 2 == 0) {
                        assertThat(made).isEmpty();
                        return;
                    }
                    try (ProcessGroup group = made.orElseThrow()) {
                        assertThat(group.size()).isEqualTo(2);
                        assertThat(group.worldRanks()).containsExactly(3, 1);
                        assertThat(group.rank()).isEqualTo(rank.rank() == 3 ? 0 : 1);
                        Tensor tensor = rank.floats(rank.rank());
                        group.broadcast(tensor, 0).await();
                        rank.expect(tensor, new long[] {3}, "from its rank 0");
                    }
                });
    }

    @Test
    void equalRanksMakeDifferentGroups() {
        onRanks(
                3,
                rank -> {
                    try (ProcessGroup first = rank.group().newGroup(List.of(0, 1, 2)).get();
                            ProcessGroup second = rank.group().newGroup(List.of(0, 1, 2)).get()) {
                        assertThat(first.name()).isNotEqualTo(second.name());
                        expectSum(rank, second, 6);
                        expectSum(rank, first, 6);
                        expectSum(rank, rank.group(), 6);
                    }
                });
    }

    @Test
    void groupsOfGroupsKeepWorldRanks() {
        onRanks(
                4,
                rank -> {
                    if (rank.rank() == 0) {
                        return;
                    }
                    try (ProcessGroup three = rank.group().newGroup(List.of(3, 2, 1)).get()) {
                        Optional<ProcessGroup> made = three.newGroup(List.of(0, 2));
                        assertThat(made.isPresent()).isEqualTo(rank.rank() != 2);
                        if (made.isPresent()) {
                            try (ProcessGroup two = made.get()) {
                                assertThat(two.worldRanks()).containsExactly(3, 1);
                                expectSum(rank, two, 6);
                            }
                        }
                    }
                });
    }

    @Test
    void ranksOfAGroupAreChecked() {
        onRanks(
                2,
                rank -> {
                    ProcessGroup world = rank.group();
                    List<List<Integer>> bad =
                            List.of(
                                    List.of(),
                                    List.of(0, 0),
                                    List.of(0, 2),
                                    List.of(-1),
                                    Arrays.asList(0, null));
                    for (List<Integer> ranks : bad) {
                        assertThatThrownBy(() -> world.newGroup(ranks))
                                .as("%s", ranks)
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("newGroup");
                    }
                    assertThatThrownBy(() -> world.newGroup(null))
                            .isInstanceOf(UsageException.class);
                    expectSum(rank, world, 3);
                });
    }

    @Test
    void splitOrdersByKeyThenRank() {
        onRanks(
                5,
                rank -> {
                    int[] colors = {7, 7, 0, 7, 0};
                    int[] keys = {2, 1, 5, 1, -5};
                    int me = rank.rank();
                    try (ProcessGroup group = rank.group().split(colors[me], keys[me]).get()) {
                        if (colors[me] == 7) {
                            assertThat(group.worldRanks()).containsExactly(1, 3, 0);
                            expectSum(rank, group, 7);
                        } else {
                            assertThat(group.worldRanks()).containsExactly(4, 2);
                            expectSum(rank, group, 8);
                        }
                    }
                });
    }

    @Test
    void aNegativeColorIsInNoNewGroup() {
        onRanks(
                3,
                rank -> {
                    Optional<ProcessGroup> group = rank.group().split(rank.rank() == 1 ? -1 : 0, 0);
                    assertThat(group.isPresent()).isEqualTo(rank.rank() != 1);
                    group.ifPresent(
                            two -> {
                                expectSum(rank, two, 4);
                                two.close();
                            });
                });
    }

    /** Each rank is in three groups, with other ranks in each. */
    private static List<ProcessGroup> overlapping(Rank rank) {
        List<ProcessGroup> groups = new ArrayList<>();
        for (List<Integer> ranks :
                List.of(
                        List.of(0, 1),
                        List.of(2, 3),
                        List.of(0, 2),
                        List.of(1, 3),
                        List.of(0, 1, 2, 3))) {
            rank.group().newGroup(ranks).ifPresent(groups::add);
        }
        return groups;
    }

    @Test
    void groupsTakeTurnsInOneThread() {
        onRanks(
                4,
                rank -> {
                    List<ProcessGroup> groups = overlapping(rank);
                    List<Work> works = new ArrayList<>();
                    List<Tensor> sums = new ArrayList<>();
                    for (int i = 0; i < 20; i++) {
                        for (ProcessGroup group : groups) {
                            Tensor tensor = rank.floats(1 + rank.rank());
                            sums.add(tensor);
                            works.add(group.allReduce(tensor, ReduceOp.SUM));
                        }
                    }
                    works.forEach(Work::await);
                    for (int i = 0; i < sums.size(); i++) {
                        long[] expected = {sumOfMembers(groups.get(i % groups.size()))};
                        rank.expect(sums.get(i), expected, "sum " + i);
                    }
                    groups.forEach(ProcessGroup::close);
                });
    }

    private static long sumOfMembers(ProcessGroup group) {
        return group.worldRanks().stream().mapToLong(member -> member + 1).sum();
    }

    @Test
    @Needs(Capability.ANY_ORDER)
    void groupsWorkAtTheSameTimeFromDifferentThreads() {
        onRanks(
                4,
                rank -> {
                    List<ProcessGroup> groups = overlapping(rank);
                    List<CompletableFuture<Void>> users = new ArrayList<>();
                    for (ProcessGroup group : groups) {
                        CompletableFuture<Void> user = new CompletableFuture<>();
                        users.add(user);
                        Thread thread = new Thread(() -> use(rank, group, user), group.name());
                        thread.setDaemon(true);
                        thread.start();
                    }
                    for (CompletableFuture<Void> user : users) {
                        user.get(30, TimeUnit.SECONDS);
                    }
                    groups.forEach(ProcessGroup::close);
                });
    }

    /** A store may outlive many groups and worlds. */
    @Test
    void whatRanksMetByDoesNotStayInTheStore() {
        onRanks(
                3,
                rank -> {
                    for (int i = 0; i < 2; i++) {
                        rank.group().newGroup(List.of(2, 0)).ifPresent(ProcessGroup::close);
                        rank.group().split(rank.rank() % 2, 0).ifPresent(ProcessGroup::close);
                        rank.group().split(rank.rank() - 1, 0).ifPresent(ProcessGroup::close);
                    }
                    rank.group().barrier().synchronize();
                    // What a rank writes about an operation that is stuck is another matter.
                    assertThat(rank.store().listKeys())
                            .filteredOn(key -> key.matches("worlds/\\d+/\\d+/.*"))
                            .filteredOn(key -> !key.contains("/desync/"))
                            .isEmpty();
                });
    }

    private static void use(Rank rank, ProcessGroup group, CompletableFuture<Void> user) {
        try {
            long expected = sumOfMembers(group);
            for (int i = 0; i < 50; i++) {
                Tensor tensor = rank.floats(1 + rank.rank());
                if (i % 2 == 0) {
                    group.allReduce(tensor, ReduceOp.SUM).await();
                } else {
                    group.sync().allReduce(tensor, ReduceOp.SUM);
                }
                rank.expect(tensor, new long[] {expected}, "round " + i + " in " + group);
            }
            user.complete(null);
        } catch (Throwable e) {
            user.completeExceptionally(e);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void monitoredBarrierPassesWhenAllArrive(int size) {
        onRanks(
                size,
                rank -> {
                    rank.group().monitoredBarrier(Ranks.onThisHost(20), true);
                    rank.group().monitoredBarrier(Ranks.onThisHost(20), false);
                });
    }

    @Tag(ConformanceTest.NEW_WORLD)
    @Test
    void monitoredBarrierNamesAllMissingRanksOnEveryRank() {
        onRanks(
                4,
                rank -> {
                    if (rank.rank() == 2) {
                        rank.signal("arrives");
                    } else if (rank.rank() == 0) {
                        // Rank 2 would be missing, too, if it began later than rank 0 waits.
                        rank.awaitSignal("arrives");
                    }
                    if (rank.rank() == 0 || rank.rank() == 2) {
                        assertThatThrownBy(
                                        () ->
                                                rank.group()
                                                        .monitoredBarrier(
                                                                Ranks.onThisHost(1), true))
                                .isInstanceOf(OperationTimeoutException.class)
                                .hasMessageContaining("[1, 3]")
                                .hasMessageContaining("rank " + rank.rank())
                                .satisfies(thrown -> agrees(rank, thrown));
                    }
                    // The group itself is not harmed.
                    expectSum(rank, rank.group(), 10);
                });
    }

    @Tag(ConformanceTest.NEW_WORLD)
    @Test
    void monitoredBarrierCanStopAtTheFirstMissingRank() {
        onRanks(
                3,
                rank -> {
                    if (rank.rank() == 0) {
                        assertThatThrownBy(
                                        () ->
                                                rank.group()
                                                        .monitoredBarrier(
                                                                Duration.ofMillis(100), false))
                                .isInstanceOf(OperationTimeoutException.class)
                                .hasMessageContaining("[1]");
                    }
                });
    }

    @Tag(ConformanceTest.NEW_WORLD)
    @Test
    void monitoredBarrierFailsWithoutRankZero() {
        onRanks(
                2,
                rank -> {
                    if (rank.rank() == 1) {
                        assertThatThrownBy(
                                        () ->
                                                rank.group()
                                                        .monitoredBarrier(
                                                                Duration.ofMillis(100), true))
                                .isInstanceOf(OperationTimeoutException.class)
                                .hasMessageContaining("rank 0");
                    }
                });
    }
}

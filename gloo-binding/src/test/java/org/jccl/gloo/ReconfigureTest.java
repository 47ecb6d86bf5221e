package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.NEVER;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jccl.GroupAbortedException;
import org.jccl.OperationTimeoutException;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Worlds whose ranks leave and come back, with threads as ranks. */
@Timeout(120)
@Tag("all")
class ReconfigureTest {

    private static final Duration LONG = NEVER;
    private static final Duration SHORT = expires(Duration.ofMillis(500));

    private final Store store = HashStore.create(LONG);
    private final List<ProcessGroup> groups = new ArrayList<>();

    @AfterEach
    void close() {
        synchronized (groups) {
            groups.forEach(ProcessGroup::abort);
            groups.forEach(ProcessGroup::close);
        }
        store.close();
    }

    private ProcessGroupBuilder rank(int rank, int size) {
        return ProcessGroup.builder()
                .backend("gloo")
                .store(store)
                .rank(rank)
                .worldSize(size)
                .timeout(LONG)
                .options(GlooOptions.onHost("127.0.0.1"));
    }

    private CompletableFuture<ProcessGroup> start(Supplier<ProcessGroup> make) {
        return CompletableFuture.supplyAsync(
                () -> {
                    ProcessGroup made = make.get();
                    synchronized (groups) {
                        groups.add(made);
                    }
                    return made;
                },
                task -> new Thread(task).start());
    }

    private CompletableFuture<ProcessGroup> join(int rank, int size) {
        return start(() -> rank(rank, size).reconfigurable(1).build());
    }

    private static ProcessGroup get(CompletableFuture<ProcessGroup> group) throws Exception {
        return group.get(60, TimeUnit.SECONDS);
    }

    private static long sum(ProcessGroup group, long value) {
        try (Tensor tensor = Tensor.copyOf(new long[] {value})) {
            group.sync().allReduce(tensor, ReduceOp.SUM);
            return tensor.copyTo(new long[1])[0];
        }
    }

    private static void expectSum(List<ProcessGroup> members, long expected) throws Exception {
        List<CompletableFuture<Long>> sums =
                members.stream()
                        .map(
                                group ->
                                        CompletableFuture.supplyAsync(
                                                () -> sum(group, 1L + group.rank()),
                                                task -> new Thread(task).start()))
                        .toList();
        for (CompletableFuture<Long> each : sums) {
            assertThat(each.get(60, TimeUnit.SECONDS)).isEqualTo(expected);
        }
    }

    @Test
    void aLostRankIsReplaced() throws Exception {
        CompletableFuture<ProcessGroup> first = join(0, 3);
        CompletableFuture<ProcessGroup> second = join(1, 3);
        ProcessGroup lost = get(join(2, 3));
        expectSum(List.of(get(first), get(second), lost), 6);
        assertThat(lost.generation()).isZero();
        assertThat(lost.hasNewcomers()).isFalse();
        lost.abort();
        lost.close();
        CompletableFuture<ProcessGroup> fresh = join(2, 3);
        CompletableFuture<ProcessGroup> one = start(() -> first.join().reconfigure(LONG));
        CompletableFuture<ProcessGroup> two = start(() -> second.join().reconfigure(LONG));
        List<ProcessGroup> members = List.of(get(one), get(two), get(fresh));
        expectSum(members, 6);
        for (ProcessGroup member : members) {
            assertThat(member.generation()).isEqualTo(1);
            assertThat(member.worldRanks()).containsExactly(0, 1, 2);
        }
    }

    /** The group's timeout used to end the wait before the others could go on. */
    @Test
    void theOthersContinueAfterAWaitAsLongAsTheTimeout() throws Exception {
        Duration both = enough(Duration.ofSeconds(5));
        List<CompletableFuture<ProcessGroup>> ranks = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int rank = i;
            ranks.add(start(() -> rank(rank, 3).timeout(both).reconfigurable(1).build()));
        }
        for (CompletableFuture<ProcessGroup> rank : ranks) {
            get(rank);
        }
        get(ranks.get(1)).abort();
        CompletableFuture<ProcessGroup> one = start(() -> ranks.get(0).join().reconfigure(both));
        CompletableFuture<ProcessGroup> three = start(() -> ranks.get(2).join().reconfigure(both));
        expectSum(List.of(get(one), get(three)), 3);
    }

    @Test
    void theOthersContinueAndTheLostRankJoinsLater() throws Exception {
        CompletableFuture<ProcessGroup> first = join(0, 3);
        CompletableFuture<ProcessGroup> lost = join(1, 3);
        CompletableFuture<ProcessGroup> third = join(2, 3);
        get(first);
        get(third);
        get(lost).abort();
        get(lost).close();
        CompletableFuture<ProcessGroup> one = start(() -> first.join().reconfigure(SHORT));
        CompletableFuture<ProcessGroup> three = start(() -> third.join().reconfigure(SHORT));
        expectSum(List.of(get(one), get(three)), 3);
        assertThat(get(one).worldRanks()).containsExactly(0, 2);
        assertThat(get(three).rank()).isEqualTo(1);
        assertThat(get(one).hasNewcomers()).isFalse();
        CompletableFuture<ProcessGroup> fresh = join(1, 3);
        while (!get(one).hasNewcomers()) {
            Thread.sleep(20);
        }
        expectSum(List.of(get(one), get(three)), 3);
        CompletableFuture<ProcessGroup> again = start(() -> one.join().reconfigure(LONG));
        CompletableFuture<ProcessGroup> too = start(() -> three.join().reconfigure(LONG));
        expectSum(List.of(get(again), get(fresh), get(too)), 6);
        assertThat(get(fresh).rank()).isEqualTo(1);
    }

    @Test
    void anOldGenerationIsClosedWhileTheNewOneWorks() throws Exception {
        CompletableFuture<ProcessGroup> first = join(0, 2);
        CompletableFuture<ProcessGroup> second = join(1, 2);
        get(first);
        get(second);
        for (int generation = 1; generation <= 5; generation++) {
            ProcessGroup old = first.join();
            ProcessGroup other = second.join();
            CompletableFuture<ProcessGroup> one = start(() -> old.reconfigure(LONG));
            CompletableFuture<ProcessGroup> two = start(() -> other.reconfigure(LONG));
            get(one);
            get(two);
            assertThatThrownBy(() -> old.reconfigure(LONG))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("call it on the latest group");
            old.close();
            other.close();
            expectSum(List.of(one.join(), two.join()), 3);
            assertThat(one.join().generation()).isEqualTo(generation);
            first.obtrudeValue(one.join());
            second.obtrudeValue(two.join());
        }
    }

    @Test
    void aRankWhosePlaceWasTakenIsTold() throws Exception {
        CompletableFuture<ProcessGroup> slow = join(0, 2);
        while (!store.check(List.of("generations/2/0/here/0"))) {
            Thread.sleep(20);
        }
        CompletableFuture<ProcessGroup> other = join(0, 2);
        assertThatThrownBy(() -> get(slow))
                .hasCauseInstanceOf(GroupAbortedException.class)
                .hasMessageContaining("joined as rank 0 after this one");
        CompletableFuture<ProcessGroup> second = join(1, 2);
        expectSum(List.of(get(other), get(second)), 3);
    }

    @Test
    void tooFewRanksAreNamed() {
        assertThatThrownBy(
                        () ->
                                rank(1, 3)
                                        .timeout(expires(Duration.ofSeconds(1)))
                                        .reconfigurable(2)
                                        .build())
                .isInstanceOf(OperationTimeoutException.class)
                .hasMessageContaining("ranks [0, 2] of 3 are missing");
    }

    @Test
    void otherGroupsHaveNoGenerations() {
        try (ProcessGroup world = rank(0, 1).build()) {
            assertThat(world.generation()).isZero();
            assertThatThrownBy(() -> world.reconfigure(LONG))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("reconfigurable");
            assertThatThrownBy(world::hasNewcomers)
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("reconfigurable");
        }
    }

    @Test
    void wrongNumbersAreRefused() {
        assertThatThrownBy(() -> rank(0, 2).reconfigurable(0)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> rank(0, 2).reconfigurable(3).build())
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("at least 3 ranks in a world of 2");
        try (ProcessGroup world = rank(0, 1).reconfigurable(1).build()) {
            assertThatThrownBy(() -> world.reconfigure(Duration.ZERO))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("more than zero");
            assertThatThrownBy(() -> world.reconfigure(null)).isInstanceOf(UsageException.class);
        }
    }

    /** A rank that is lost after it has said where it listens, before it connects. */
    @ParameterizedTest
    @ValueSource(ints = {1, 65535})
    void aRankThatIsLostBeforeItConnectsHoldsUpNobody(int port) throws Exception {
        CompletableFuture<ProcessGroup> first = join(0, 2);
        String here = awaitKey("/here/0");
        store.set(here.replace("/here/0", "/here/1"), "lost".getBytes(StandardCharsets.UTF_8));
        String address = awaitKey("gloo/0");
        byte[] value = store.get(address);
        int at = value.length - Announcement.PORT_BYTES + Short.BYTES;
        ByteBuffer.wrap(value).putShort(at, (short) port);
        store.set(address.replace("gloo/0", "gloo/1"), value);

        ProcessGroup second = get(join(1, 2));
        expectSum(List.of(get(first), second), 3);
    }

    private String awaitKey(String end) throws InterruptedException {
        while (true) {
            for (String key : store.listKeys()) {
                if (key.endsWith(end)) {
                    return key;
                }
            }
            Thread.sleep(10);
        }
    }
}

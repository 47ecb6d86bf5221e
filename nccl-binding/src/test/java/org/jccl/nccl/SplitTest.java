package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.jccl.DataType;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLeftException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.conformance.Ranks;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Groups that NCCL makes out of another one. */
final class SplitTest {

    private static final Duration SHORT = Ranks.onThisHost(2);

    private interface Body {
        void run(ProcessGroup group, Store store) throws Exception;
    }

    private static void onRanks(int size, Duration timeout, NcclOptions options, Body body) {
        new NcclBackend(options)
                .ranks()
                .run(size, timeout, rank -> body.run(rank.group(), rank.store()));
    }

    /** Where the keys of the only world are. */
    static String world(Store store, int size) {
        byte[] number = store.get("worlds/" + size + "/made");
        return "worlds/" + size + "/" + new String(number, StandardCharsets.UTF_8) + "/";
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSplitNeedsNoUniqueId(boolean blocking) throws Exception {
        NcclOptions options = NcclOptions.builder().blocking(blocking).splitShare(true).build();
        onRanks(
                3,
                World.TIMEOUT,
                options,
                (group, store) -> {
                    // Who forms a communicator by an id writes it here, and deletes it at the end.
                    String id = world(store, 3) + "world/split0-4/nccl/0";
                    store.set(id, new byte[] {7});
                    int color = group.rank() == 1 ? -1 : 4;
                    var made = group.split(color, -group.rank());
                    assertThat(made.isPresent()).isEqualTo(group.rank() != 1);
                    if (made.isEmpty()) {
                        return;
                    }
                    try (ProcessGroup half = made.get();
                            Tensor tensor =
                                    Tensor.allocate(World.gpu(group.rank()), DataType.FLOAT32, 1)) {
                        assertThat(half.worldRanks()).containsExactly(2, 0);
                        tensor.copyFrom(new float[] {1 + group.rank()});
                        half.broadcast(tensor, 0).await();
                        assertThat(tensor.copyTo(new float[1])).containsExactly(3);
                        assertThat(store.check(List.of(id))).isTrue();
                        assertThat(store.get(id)).containsExactly(7);
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSplitWaitsForWhatIsOutstanding(boolean synchronous) throws Exception {
        onRanks(
                2,
                World.TIMEOUT,
                NcclOptions.defaults(),
                (group, store) -> {
                    try (Tensor tensor =
                            Tensor.allocate(World.gpu(group.rank()), DataType.FLOAT32, 1)) {
                        tensor.copyFrom(new float[] {1});
                        if (synchronous) {
                            group.sync().allReduce(tensor, ReduceOp.SUM);
                        } else {
                            group.allReduce(tensor, ReduceOp.SUM);
                        }
                        try (ProcessGroup all = group.split(0, 0).orElseThrow()) {
                            all.allReduce(tensor, ReduceOp.SUM).await();
                        }
                        assertThat(tensor.copyTo(new float[1])).containsExactly(4);
                    }
                });
    }

    @Test
    void ranksThatOnlyTakePartInASplitAreNamed() throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        onRanks(
                2,
                SHORT,
                NcclOptions.defaults(),
                (group, store) -> {
                    if (group.rank() == 1) {
                        // Tells rank 0 that it takes part in no new group, and does not split.
                        store.set(
                                world(store, 2) + "world/split/0/1",
                                "-1 0".getBytes(StandardCharsets.UTF_8));
                        failed.await();
                        return;
                    }
                    try {
                        assertThatThrownBy(() -> group.split(0, 0))
                                .isInstanceOf(OperationTimeoutException.class)
                                .hasMessageContaining("ncclCommSplit did not finish")
                                .hasMessageContaining(
                                        "ranks [1] of group world, which are not in the new group");
                    } finally {
                        failed.countDown();
                    }
                });
    }

    /** Whether a rank has a color or not, its split lasts until all ranks have called it. */
    @ParameterizedTest
    @CsvSource({"0, true", "-1, true", "0, false", "-1, false"})
    void aSplitThatARankLeavesIsAborted(int color, boolean blocking) throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        onRanks(
                2,
                SHORT,
                NcclOptions.builder().blocking(blocking).build(),
                (group, store) -> {
                    if (group.rank() == 1) {
                        // Tells rank 0 that it takes part, and does not.
                        store.set(
                                world(store, 2) + "world/split/0/1",
                                "0 0".getBytes(StandardCharsets.UTF_8));
                        failed.await();
                        return;
                    }
                    try {
                        assertThatThrownBy(() -> group.split(color, 0))
                                .isInstanceOf(OperationTimeoutException.class)
                                .hasMessageContaining("ncclCommSplit")
                                .hasMessageContaining("rank 0");
                        assertThatThrownBy(() -> group.barrier().synchronize())
                                .isInstanceOf(JcclException.class);
                        Stream.current(World.gpu(0)).synchronize();
                    } finally {
                        failed.countDown();
                    }
                });
    }

    /** A rank that will not come is named long before the timeout. */
    @ParameterizedTest
    @CsvSource({"true, true", "false, true", "true, false", "false, false"})
    void aSplitEndsWhenARankClosesOrAbortsItsWorld(boolean closes, boolean blocking)
            throws Exception {
        onRanks(
                2,
                World.TIMEOUT,
                NcclOptions.builder().blocking(blocking).build(),
                (group, store) -> {
                    if (group.rank() == 1) {
                        // Tells rank 0 that it takes part, and does not.
                        store.set(
                                world(store, 2) + "world/split/0/1",
                                "0 0".getBytes(StandardCharsets.UTF_8));
                        store.await(List.of(world(store, 2) + "world/split/0/0/all"));
                        if (closes) {
                            group.close();
                        } else {
                            group.abort();
                        }
                        return;
                    }
                    assertThatThrownBy(() -> group.split(0, 0))
                            .isInstanceOf(
                                    closes ? PeerLeftException.class : GroupAbortedException.class)
                            .hasMessageContaining(
                                    closes ? "rank 1 closed the group" : "rank 1 reported");
                    assertThat(group.failure()).isPresent();
                });
    }

    /** The library must not meet one color of two ranks that are in different groups. */
    @Test
    void colorsOfRanksWithoutAColorAreRefused() {
        try (ProcessGroup world = World.alone()) {
            assertThatThrownBy(() -> world.split(Integer.MAX_VALUE, 0))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("color 2147483647 is too large");
            world.split(Integer.MAX_VALUE - 1, 0).orElseThrow().close();
        }
    }
}

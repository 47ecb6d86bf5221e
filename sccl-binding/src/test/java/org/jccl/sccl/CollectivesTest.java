package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.jccl.testing.DeviceTensors.floats;
import static org.jccl.testing.DeviceTensors.read;

import java.util.Arrays;
import java.util.List;
import org.jccl.DataType;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.store.HashStore;
import org.jccl.testing.AbsentRanks;
import org.jccl.training.GradientReducer;
import org.jccl.training.NamedTensor;
import org.jccl.training.ShardedParameters;
import org.jccl.training.ShardedUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is particular to SCCL; the suite tests what all backends do. */
final class CollectivesTest {

    /** The vendor's own plugin says that a work is complete when it has only begun. */
    @Test
    void aWorkIsNotCompleteBeforeTheLastRankComes() throws Exception {
        Store signals = HashStore.create(World.TIMEOUT);
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = floats(device, 1, 2)) {
                        if (group.rank() == 1) {
                            signals.await(List.of("asked"), World.TIMEOUT);
                        }
                        Work work = group.allReduce(tensor, ReduceOp.SUM);
                        if (group.rank() == 0) {
                            for (int i = 0; i < 50; i++) {
                                assertThat(work.isCompleted()).isFalse();
                                Thread.sleep(1);
                            }
                            signals.set("asked", new byte[0]);
                        }
                        work.synchronize();
                        assertThat(work.isCompleted()).isTrue();
                        assertThat(read(tensor)).containsExactly(2, 4);
                    }
                });
    }

    /** SCCL's sum of these overflows. */
    @Test
    void gradientsOfFloat16AreDividedBeforeTheyAreAddedUp() throws Exception {
        int count = (1 << 17) + 5; // more than one piece
        short large = 0x7800; // 32768
        World.run(
                4,
                (group, device) -> {
                    short[] bits = new short[count];
                    Arrays.fill(bits, large);
                    assertThat(group.scalesAverages(device.type())).isFalse();
                    try (GradientReducer reducer =
                            GradientReducer.builder(group)
                                    .device(device)
                                    .gradient("half", DataType.FLOAT16, count)
                                    .build()) {
                        reducer.bucketView(0).copyFrom(bits);
                        reducer.ready(0);
                        reducer.finish();
                        assertThat(reducer.bucketView(0).copyTo(new short[count]))
                                .containsExactly(bits);
                    }
                    try (Tensor half = Tensor.allocate(device, DataType.FLOAT16, count);
                            ShardedParameters model =
                                    ShardedParameters.builder(group)
                                            .unit("u", List.of(NamedTensor.of("x", half, count)))
                                            .build()) {
                        ShardedUnit unit = model.units().get(0);
                        unit.gradient("x").copyFrom(bits);
                        unit.reduce();
                        model.awaitGradients();
                        Tensor own = unit.gradientShard();
                        assertThat(own.copyTo(new short[Math.toIntExact(own.count())]))
                                .containsOnly(large);
                    }
                });
    }

    @Test
    void averagesAreOfAllElementsAlsoInSeveralChunks() throws Exception {
        int count = (1 << 18) + 77;
        World.run(
                3,
                (group, device) -> {
                    float[] mine = new float[count];
                    for (int i = 0; i < count; i++) {
                        mine[i] = i % 1000 + group.rank();
                    }
                    try (Tensor tensor = floats(device, mine);
                            Tensor again = floats(device, mine)) {
                        group.allReduce(tensor, ReduceOp.AVG).await();
                        group.reduce(again, 2, ReduceOp.AVG).await();
                        float[] found = read(tensor);
                        float[] foundAgain = read(again);
                        for (int i = 0; i < count; i++) {
                            assertThat(found[i]).isCloseTo(i % 1000 + 1, within(1e-3f));
                        }
                        assertThat(foundAgain).isEqualTo(group.rank() == 2 ? found : mine);
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void inputsInsideTheirOutputAreGathered(int size) throws Exception {
        World.run(
                size,
                (group, device) -> {
                    float[] start = new float[3 * size];
                    Arrays.fill(start, -1);
                    Arrays.fill(start, 3 * group.rank(), 3 * group.rank() + 3, group.rank());
                    try (Tensor all = floats(device, start)) {
                        Tensor mine = all.slice(3L * group.rank(), 3);
                        group.allGatherSingle(all, mine).await();
                        float[] found = read(all);
                        for (int i = 0; i < found.length; i++) {
                            assertThat(found[i]).isEqualTo(i / 3);
                        }
                    }
                });
    }

    @Test
    void groupsTakeTheirPartOfTheChipMap() throws Exception {
        World.run(
                4,
                World.TIMEOUT,
                ScclOptions.ofChips(2, 6, 7, 3),
                (group, device) -> {
                    List<Integer> members = List.of(3, 1);
                    if (!members.contains(group.rank())) {
                        assertThat(group.newGroup(members)).isEmpty();
                        return;
                    }
                    try (ProcessGroup two = group.newGroup(members).orElseThrow();
                            Tensor tensor = floats(device, device.index())) {
                        two.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(read(tensor)).containsExactly(6 + 3);
                    }
                });
    }

    @Test
    void messagesWithoutElementsAreNotSent() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor empty = floats(device)) {
                        if (group.rank() == 0) {
                            group.send(empty, 1).await();
                        }
                        group.barrier().await();
                    }
                });
    }

    @Test
    void moreRanksThanTheLibraryHasRoomForAreRefused() {
        try (Store store = HashStore.create(World.TIMEOUT)) {
            AbsentRanks.comeTo(store, 0, 17);
            assertThatThrownBy(
                            () -> World.join(store, 0, 17, World.TIMEOUT, ScclOptions.defaults()))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("at most 16 ranks, this group has 17");
        }
    }

    @Test
    void aDeviceThatIsNotThereIsRefused() {
        try (Store store = HashStore.create(World.TIMEOUT)) {
            AbsentRanks.comeTo(store, 0, 2);
            assertThatThrownBy(
                            () ->
                                    new ScclBackend(ScclOptions.defaults(), rank -> 5000)
                                            .join(store, 0, 2, World.TIMEOUT))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("there is no tpu:5000");
        }
    }

    /** Any of these makes the library throw through C, which would end this process. */
    @Test
    void whatTheLibraryWouldThrowForIsRefusedHere() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    for (DataType type : List.of(DataType.FLOAT64, DataType.INT8, DataType.BOOL)) {
                        try (Tensor tensor = Tensor.allocate(device, type, 2)) {
                            assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                                    .isInstanceOf(UsageException.class)
                                    .hasMessageContaining("this backend has no SUM of " + type);
                        }
                    }
                    try (Tensor tensor = Tensor.allocate(device, DataType.INT32, 2)) {
                        assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.BXOR))
                                .isInstanceOf(UsageException.class);
                    }
                    try (Tensor tensor = floats(device, 1)) {
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(read(tensor)).containsExactly(2);
                    }
                });
    }
}

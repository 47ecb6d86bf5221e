package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

final class DeviceMeshTest {

    private static List<Integer> members(ProcessGroup group) {
        // Adding up powers of two shows who really takes part.
        Tensor tensor = Tensor.copyOf(new long[] {1L << group.worldRanks().get(group.rank())});
        try (tensor) {
            group.sync().allReduce(tensor, ReduceOp.SUM);
            long bits = tensor.copyTo(new long[1])[0];
            return IntStream.range(0, Long.SIZE)
                    .filter(rank -> (bits >>> rank & 1) == 1)
                    .boxed()
                    .toList();
        }
    }

    /** As Megatron divides 16 devices: in pairs, four stages, and each stage twice. */
    @Test
    void theGroupsOfSixteenDevices() {
        TestRanks.onCpu(
                16,
                world -> {
                    try (DeviceMesh mesh =
                            DeviceMesh.of(world, new int[] {4, 2, 2}, "pp", "dp", "tp")) {
                        assertThat(mesh.groups("tp"))
                                .containsExactly(
                                        List.of(0, 1),
                                        List.of(2, 3),
                                        List.of(4, 5),
                                        List.of(6, 7),
                                        List.of(8, 9),
                                        List.of(10, 11),
                                        List.of(12, 13),
                                        List.of(14, 15));
                        assertThat(mesh.groups("dp"))
                                .containsExactly(
                                        List.of(0, 2),
                                        List.of(1, 3),
                                        List.of(4, 6),
                                        List.of(5, 7),
                                        List.of(8, 10),
                                        List.of(9, 11),
                                        List.of(12, 14),
                                        List.of(13, 15));
                        assertThat(mesh.groups("pp"))
                                .containsExactly(
                                        List.of(0, 4, 8, 12),
                                        List.of(1, 5, 9, 13),
                                        List.of(2, 6, 10, 14),
                                        List.of(3, 7, 11, 15));
                        for (String name : mesh.names()) {
                            List<Integer> members = members(mesh.group(name));
                            assertThat(members).contains(world.rank());
                            assertThat(mesh.groups(name)).contains(members);
                            assertThat(mesh.group(name).rank()).isEqualTo(mesh.coordinate(name));
                            assertThat(mesh.group(name).size()).isEqualTo(mesh.size(name));
                            assertThat(mesh.group(name)).isSameAs(mesh.group(name));
                        }
                        int rank = world.rank();
                        assertThat(mesh.coordinates())
                                .containsExactly(rank / 4, rank / 2 % 2, rank % 2);
                        assertThat(mesh).hasToString("mesh pp=4 x dp=2 x tp=2");
                    }
                });
    }

    @Test
    void slicesAndFlattens() {
        TestRanks.onCpu(
                8,
                world -> {
                    try (DeviceMesh mesh =
                            DeviceMesh.of(world, new int[] {2, 2, 2}, "pp", "dp", "tp")) {
                        int rank = world.rank();
                        DeviceMesh stage = mesh.slice("dp", "tp");
                        int first = rank / 4 * 4;
                        assertThat(stage.ranks())
                                .containsExactly(first, first + 1, first + 2, first + 3);
                        assertThat(stage.shape()).containsExactly(2, 2);
                        assertThat(stage.size()).isEqualTo(4);
                        assertThat(stage.group("tp")).isSameAs(mesh.group("tp"));
                        assertThat(stage.groups("dp"))
                                .containsExactly(
                                        List.of(first, first + 2), List.of(first + 1, first + 3));

                        // Dimensions that are no neighbours.
                        DeviceMesh model = mesh.flatten("pp_tp", "pp", "tp");
                        int base = rank / 2 % 2 * 2;
                        List<Integer> expected = List.of(base, base + 1, base + 4, base + 5);
                        assertThat(model.ranks()).isEqualTo(expected);
                        assertThat(members(model.group("pp_tp"))).isEqualTo(expected);
                        assertThat(model.group("pp_tp").rank())
                                .isEqualTo(model.coordinate("pp_tp"))
                                .isEqualTo(expected.indexOf(rank));
                        assertThat(mesh.flatten("again", "pp", "tp").group("again"))
                                .isSameAs(model.group("pp_tp"));
                        assertThat(mesh.flatten("all", "pp", "dp", "tp").group("all"))
                                .isSameAs(world);
                    }
                });
    }

    @Test
    void noGroupIsMadeThatIsThereAlready() {
        TestRanks.onCpu(
                2,
                world -> {
                    ProcessGroup alone;
                    DeviceMesh closed;
                    try (DeviceMesh mesh =
                            DeviceMesh.of(world, new int[] {1, 2, 1}, "a", "b", "c")) {
                        closed = mesh;
                        assertThat(mesh.group("b")).isSameAs(world);
                        alone = mesh.group("a");
                        assertThat(alone.size()).isEqualTo(1);
                        assertThat(mesh.group("c")).isSameAs(alone);
                        assertThat(mesh.flatten("ab", "a", "b").group("ab")).isSameAs(world);
                    }
                    assertThatThrownBy(alone::barrier).hasMessageContaining("closed");
                    // Not a new group, which would wait for the other ranks.
                    refused("the mesh is closed", () -> closed.group("b"));
                    refused("the mesh is closed", () -> closed.slice("a", "b").group("a"));
                    refused("the mesh is closed", () -> closed.flatten("bc", "b", "c"));
                    world.barrier().await(); // is still open
                });
    }

    @Test
    void wrongMeshesAreRefused() {
        TestRanks.onCpu(
                2,
                world -> {
                    refused(
                            "[2, 2] does not fit the number of ranks, 2",
                            () -> DeviceMesh.of(world, new int[] {2, 2}, "a", "b"));
                    refused("a name for each", () -> DeviceMesh.of(world, new int[] {2}, "a", "b"));
                    refused("a name for each", () -> DeviceMesh.of(world, new int[0]));
                    refused("different", () -> DeviceMesh.of(world, new int[] {1, 2}, "a", "a"));
                    refused("[0, 2]", () -> DeviceMesh.of(world, new int[] {0, 2}, "a", "b"));
                    refused("[-1, -2]", () -> DeviceMesh.of(world, new int[] {-1, -2}, "a", "b"));
                    refused("group is null", () -> DeviceMesh.of(null, new int[] {2}, "a"));
                    refused("shape is null", () -> DeviceMesh.of(world, null, "a"));
                    try (DeviceMesh mesh = DeviceMesh.of(world, new int[] {1, 2}, "a", "b")) {
                        refused("no dimension 'c' in mesh a=1 x b=2", () -> mesh.group("c"));
                        refused("not in the order", () -> mesh.slice("b", "a"));
                        refused("not in the order", () -> mesh.slice("b", "b"));
                        refused("no dimension is given", () -> mesh.flatten("x"));
                        refused("is null", () -> mesh.flatten(null, "a"));
                    }
                });
    }

    /** A rank would add up with others than it believes. */
    @Test
    void ranksThatMakeDifferentMeshesAreNamed() {
        TestRanks.onCpu(
                6,
                world -> {
                    boolean first = world.rank() < 3;
                    int[] shape = first ? new int[] {2, 3} : new int[] {3, 2};
                    different("shape [3, 2]", () -> DeviceMesh.of(world, shape, "a", "b"));
                    String[] names = first ? new String[] {"a", "b"} : new String[] {"b", "a"};
                    different("names [b, a]", () -> DeviceMesh.of(world, new int[] {2, 3}, names));
                    try (DeviceMesh mesh = DeviceMesh.of(world, new int[] {2, 3}, "a", "b")) {
                        different("dimension 'x'", () -> mesh.flatten("x", names[0]));
                        assertThat(members(mesh.group("b"))).hasSize(3);
                    }
                });
    }

    private static void different(String words, ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOf(DifferentModelsException.class)
                .hasMessageContaining(words)
                .hasMessageContaining("all ranks must make the same mesh");
    }

    private static void refused(String words, ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOf(UsageException.class).hasMessageContaining(words);
    }
}

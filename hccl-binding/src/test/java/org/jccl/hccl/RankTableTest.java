package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.ranktable.AscendChip;
import org.jccl.ranktable.RankTable;
import org.jccl.ranktable.RankTableBuilder;
import org.jccl.ranktable.RankTableFormat;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Worlds that a rank table connects. */
final class RankTableTest {

    @TempDir private Path folder;

    private static boolean takesLayers() {
        return HcclLibraries.get().chip().family().equals(Optional.of(AscendChip.ASCEND_950));
    }

    /** In the form that this device's HCCL reads. */
    private Path table(String name, int... devices) throws Exception {
        return table(name, takesLayers(), devices);
    }

    private Path table(String name, boolean layers, int... devices) throws Exception {
        RankTableBuilder table =
                RankTable.builder(layers ? RankTableFormat.HCCL_2_0 : RankTableFormat.HCCL_1_0)
                        .node("127.0.0.1");
        for (int rank = 0; rank < devices.length; rank++) {
            String address = "192.168.40." + (10 + rank);
            if (layers) {
                table.device(devices[rank]).address(0, "127.0.0.1", "0", address, "0/" + rank);
            } else {
                table.device(devices[rank], address);
            }
        }
        // Other processes may write the same file, and read it.
        Path whole = Files.createTempFile(folder, "table", ".part");
        Files.writeString(whole, table.build().toJson());
        return Files.move(whole, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    }

    private static ProcessGroup join(Path table, int size) {
        return World.join(
                HashStore.create(World.TIMEOUT),
                0,
                size,
                World.TIMEOUT,
                HcclOptions.builder().rankTable(table).build());
    }

    @Test
    void ranksMeetWithoutAWordInTheStore() throws Exception {
        World.run(
                3,
                World.TIMEOUT,
                HcclOptions.builder().rankTable(table("ranks.json", 0, 1, 2)).build(),
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1);
                            ProcessGroup pair = group.split(group.rank() / 2, 0).orElseThrow()) {
                        tensor.copyFrom(new float[] {group.rank() + 1});
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(tensor.copyTo(new float[1])).containsExactly(6);
                        pair.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(tensor.copyTo(new float[1])).containsExactly(6 * pair.size());
                    }
                });
    }

    @Test
    void theTableNamesTheDevice() throws Exception {
        try (ProcessGroup group =
                        ProcessGroup.builder()
                                .backend("hccl")
                                .store(HashStore.create(World.TIMEOUT))
                                .rank(0)
                                .worldSize(1)
                                .options(
                                        HcclOptions.builder()
                                                .rankTable(table("named.json", 2))
                                                .build())
                                .timeout(World.TIMEOUT)
                                .build();
                Tensor tensor =
                        Tensor.allocate(group.devices().get(0), DataType.FLOAT32, 1)
                                .copyFrom(new float[] {7})) {
            assertThat(group.devices()).containsExactly(new Device("npu", 2));
            group.allReduce(tensor, ReduceOp.SUM).await();
            assertThat(tensor.copyTo(new float[1])).containsExactly(7);
        }
    }

    /** As ModelArts writes it: HCCL itself takes the number of the rank for the name of a pod. */
    @Test
    void aTableByWhichHcclFormsNoWorldGivesRanksAndDevices() throws Exception {
        Path table = folder.resolve("group_list.json");
        Files.writeString(
                table,
                """
                {"status": "completed", "group_count": "1", "group_list": [{
                  "group_name": "world", "instance_count": "1", "device_count": "2",
                  "instance_list": [{"pod_name": "w0", "server_id": "127.0.0.1", "devices": [
                    {"device_id": "0", "device_ip": "192.168.40.10"},
                    {"device_id": "1", "device_ip": "192.168.40.11"}]}]}]}
                """);
        assertThat(RankTable.read(table).formsWorlds()).isFalse();
        World.run(
                2,
                World.TIMEOUT,
                HcclOptions.builder().rankTable(table).build(),
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                        tensor.copyFrom(new float[] {group.rank() + 1});
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(tensor.copyTo(new float[1])).containsExactly(3);
                    }
                });
    }

    @Test
    void tableThatDoesNotFitIsRefusedBeforeHcclReadsIt() throws Exception {
        refused(folder.resolve("none.json"), 1, "cannot be read");
        refused(table("ranks.txt", 0), 1, "must end with .json");
        refused(table("long.json", 0, 1), 1, "has 2 ranks, the world has 1");
        if (HcclLibraries.get().has("aclrtGetPhyDevIdByLogicDevId")) {
            refused(table("other.json", 3), 1, "gives rank 0 the device 3 of its node");
            refused(table("other.json", 3), 1, "leave out the device, or name npu:3");
        }
    }

    @Test
    void aTableOfAnotherGenerationIsRefused() throws Exception {
        boolean layers = takesLayers();
        refused(
                table("form.json", !layers, 0),
                1,
                layers
                        ? "is of the form HCCL 1.0: Ascend 950 takes HCCL 2.0 only"
                        : "is of the form HCCL 2.0: ");
    }

    private static void refused(Path table, int size, String problem) {
        assertThatThrownBy(() -> join(table, size))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(table.toString())
                .hasMessageContaining(problem);
    }
}

package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.DeviceTensors.floats;
import static org.jccl.testing.DeviceTensors.read;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jccl.BackendOptions;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.nccl.NcclOptions.CtaPolicy;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is particular to NCCL; the rest is in the conformance suite. */
final class CollectivesTest {

    @Test
    void int16MovesButDoesNotReduce() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.INT16, 2)) {
                        short mine = (short) (1000 + group.rank());
                        tensor.copyFrom(new short[] {mine, -1});
                        group.broadcast(tensor, 1).await();
                        assertThat(tensor.copyTo(new short[2])).containsExactly(1001, -1);
                        assertThatThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("int16");
                    }
                });
    }

    /** Reduces float8 on two ranks; run on devices of both kinds. */
    static final class Float8 {

        private Float8() {}

        public static void main(String[] arguments) throws Exception {
            World.run(2, (group, device) -> reduce(group, device, DataType.FLOAT8_E4M3, 0x38));
            World.run(2, (group, device) -> reduce(group, device, DataType.FLOAT8_E5M2, 0x3c));
        }

        /** Rank 0 has 1, rank 1 has 2: their exponents differ by one. */
        private static void reduce(ProcessGroup group, Device device, DataType type, int one) {
            byte two = (byte) (type == DataType.FLOAT8_E4M3 ? one + 8 : one + 4);
            byte[] mine = {group.rank() == 0 ? (byte) one : two};
            try (Tensor tensor = Tensor.allocate(device, type, 1)) {
                for (ReduceOp op : List.of(ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN)) {
                    tensor.copyFrom(mine);
                    String found;
                    try {
                        group.allReduce(tensor, op).await();
                        found = String.format("%x", tensor.copyTo(new byte[1])[0]);
                    } catch (UsageException e) {
                        found = "refused";
                    }
                    System.out.println(group.rank() + " " + type + " " + op + ": " + found);
                }
                // Moving needs no arithmetic.
                tensor.copyFrom(mine);
                group.broadcast(tensor, 1).await();
                assertThat(tensor.copyTo(new byte[1])).containsExactly(two);
            }
        }
    }

    @Test
    void float8ReducesOnDevicesThatCan() throws Exception {
        String hopper = ChildJvm.outputOf(Float8.class, Map.of("MOCK_COMPUTE_CAPABILITY", "90"));
        assertThat(hopper.lines())
                .contains("0 float8_e4m3 SUM: 44", "1 float8_e4m3 MAX: 40", "0 float8_e4m3 MIN: 38")
                .contains("1 float8_e5m2 SUM: 42", "0 float8_e5m2 MAX: 40", "1 float8_e5m2 MIN: 3c")
                .noneMatch(line -> line.contains("refused"));
        String ampere = ChildJvm.outputOf(Float8.class, Map.of("MOCK_COMPUTE_CAPABILITY", "89"));
        assertThat(ampere.lines()).hasSize(12).allMatch(line -> line.endsWith("refused"));
    }

    /** Types 10 and 11 came with 2.24. */
    @Test
    @Tag("mocked-nccl")
    void float8MovesOnALibraryThatLacksIt() throws Exception {
        String output =
                ChildJvm.outputOf(
                        Float8.class,
                        Map.of("MOCK_NCCL_VERSION", "22304", "MOCK_COMPUTE_CAPABILITY", "90"));
        assertThat(output.lines()).hasSize(12).allMatch(line -> line.endsWith("refused"));
    }

    /** A world with a traffic class. */
    static final class TrafficClass {

        private TrafficClass() {}

        public static void main(String[] arguments) {
            NcclOptions options = NcclOptions.builder().trafficClass(1).build();
            try (ProcessGroup group = new NcclBackend(options).alone()) {
                System.out.println("made " + group.size());
            } catch (UsageException e) {
                System.out.println("refused: " + e.getMessage());
            }
        }
    }

    /** The field of the configuration came with 2.26; older libraries do not read it. */
    @Test
    @Tag("mocked-nccl")
    void aTrafficClassIsRefusedWhereTheLibraryIgnoresIt() throws Exception {
        assertThat(ChildJvm.outputOf(TrafficClass.class, Map.of("MOCK_NCCL_VERSION", "22506")))
                .contains("refused: ", "trafficClass needs NCCL 2.26 or later", "2.25.6");
        assertThat(ChildJvm.outputOf(TrafficClass.class, Map.of("MOCK_NCCL_VERSION", "22602")))
                .contains("made 1");
    }

    /** A world with one of the options of 2.27 and 2.28, and a group of it with others. */
    static final class NewerOptions {

        private NewerOptions() {}

        public static void main(String[] arguments) {
            NcclOptions options =
                    switch (System.getProperty("test.option")) {
                        case "name" -> NcclOptions.builder().communicatorName("experts").build();
                        case "policy" ->
                                NcclOptions.builder().ctaPolicy(CtaPolicy.EFFICIENCY).build();
                        case "zero" -> NcclOptions.builder().ctaPolicy(CtaPolicy.ZERO).build();
                        case "nvls" -> NcclOptions.builder().nvlsCtas(4).build();
                        case "collnet" -> NcclOptions.builder().collnet(true).build();
                        default -> NcclOptions.defaults();
                    };
            try (ProcessGroup group = new NcclBackend(options).alone();
                    ProcessGroup part =
                            group.newGroup(List.of(0), NcclOptions.builder().nvlsCtas(3).build())
                                    .orElseThrow();
                    ProcessGroup half =
                            group.split(0, 0, NcclOptions.builder().collnet(true).build())
                                    .orElseThrow()) {
                System.out.println("made " + group.size() + part.size() + half.size());
            } catch (UsageException e) {
                System.out.println("refused: " + e.getMessage());
            }
        }
    }

    private static String newerOption(String option, int version) throws Exception {
        return ChildJvm.outputOf(
                NewerOptions.class,
                Map.of("MOCK_NCCL_VERSION", "" + version, "MOCK_NCCL_PRINT_CONFIG", "1"),
                "-Dtest.option=" + option);
    }

    @ParameterizedTest
    @CsvSource({
        "name, 22700, communicatorName, 'commName experts,'",
        "policy, 22700, ctaPolicy, 'CTAPolicy 1,'",
        "zero, 22800, ctaPolicy ZERO, 'CTAPolicy 2,'",
        "nvls, 22700, nvlsCtas, 'nvlsCTAs 4'",
        "collnet, 22700, collnet, 'collnetEnable 1,'"
    })
    @Tag("mocked-nccl")
    void newerOptionsReachNcclOrAreRefused(String option, int needed, String name, String field)
            throws Exception {
        assertThat(newerOption(option, needed)).contains("made 111", field);
        assertThat(newerOption(option, needed - 1))
                .contains("refused: ")
                .contains(name + " needs NCCL 2." + needed / 100 % 100 + " or later");
    }

    /** And groups made of a group have options of their own, or else those of the group. */
    @Test
    @Tag("mocked-nccl")
    void theNameIsThatOfTheGroupAndPartsHaveTheirOwnOptions() throws Exception {
        assertThat(newerOption("none", 22800).lines())
                .anyMatch(line -> line.startsWith("commName world, collnetEnable -2147483648"))
                .anyMatch(line -> line.matches("commName world/0, .* nvlsCTAs 3"))
                .anyMatch(line -> line.startsWith("commName world/split0-0, collnetEnable 1,"));
        assertThat(newerOption("none", 22606)).contains("refused: ", "nvlsCtas needs NCCL 2.27");
    }

    @Test
    void optionsOfAnotherBackendAreRefused() {
        try (ProcessGroup group = World.alone()) {
            BackendOptions others = () -> "gloo";
            assertThatThrownBy(() -> group.newGroup(List.of(0), others))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("newGroup: the options are for gloo")
                    .hasMessageContaining("nccl");
            assertThatThrownBy(() -> group.split(0, 0, null)).isInstanceOf(UsageException.class);
        }
    }

    @Test
    void nonBlockingCommunicatorsAndOptionsWork() throws Exception {
        NcclOptions options =
                NcclOptions.builder()
                        .blocking(false)
                        .highPriorityStream(true)
                        .minCtas(1)
                        .maxCtas(4)
                        .cgaClusterSize(2)
                        .networkName("Socket")
                        .trafficClass(1)
                        .communicatorName("experts")
                        .ctaPolicy(CtaPolicy.EFFICIENCY)
                        .nvlsCtas(2)
                        .collnet(true)
                        .build();
        World.run(
                2,
                World.TIMEOUT,
                options,
                (group, device) -> {
                    try (Tensor tensor = floats(device, 1, 2)) {
                        for (int i = 0; i < 3; i++) {
                            group.allReduce(tensor, ReduceOp.SUM).await();
                        }
                        assertThat(read(tensor)).containsExactly(8, 16);
                    }
                });
    }

    @Test
    void memoryOfNcclIsUsedAsAnyOther() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = NcclMemory.allocate(device, DataType.FLOAT32, 2)) {
                        tensor.copyFrom(new float[] {1, 2});
                        group.allReduce(tensor, ReduceOp.SUM).await();
                        assertThat(read(tensor)).containsExactly(2, 4);
                    }
                });
        assertThatThrownBy(() -> NcclMemory.allocate(World.gpu(99), DataType.FLOAT32, 1))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("cuda:99");
        assertThatThrownBy(() -> NcclMemory.allocate(Device.CPU, DataType.FLOAT32, 1))
                .isInstanceOf(UsageException.class);
    }

    @Test
    void deviceThatDoesNotExistIsRefused() {
        assertThatThrownBy(() -> Tensor.allocate(World.gpu(99), DataType.FLOAT32, 1))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("cuda:99");
    }

    @Test
    void connectingHasADeadline() {
        assertThatThrownBy(() -> joinAlone(1, NcclOptions.defaults(), Interop.NONE))
                .hasMessageContaining("ranks [0] of 2 did not join within 300 ms");
        // With PyTorch's ranks nobody is asked before whether all have come.
        assertThatThrownBy(() -> joinAlone(1, NcclOptions.defaults(), Interop.TORCH))
                .hasMessageContaining("no rank wrote an NCCL id")
                .hasMessageContaining("ranks [0] of 2 have not arrived");
        for (boolean blocking : new boolean[] {true, false}) {
            NcclOptions options = NcclOptions.builder().blocking(blocking).build();
            assertThatThrownBy(() -> joinAlone(0, options, Interop.TORCH))
                    .hasMessageContaining("ncclCommInitRankConfig did not finish")
                    .hasMessageContaining("ranks [1] of 2 have not arrived");
        }
    }

    /** One of two ranks, whose other one never comes. */
    private static ProcessGroup joinAlone(int rank, NcclOptions options, Interop interop) {
        return ProcessGroup.builder()
                .backend("nccl")
                .device(World.gpu(rank))
                .options(options)
                .store(HashStore.create(World.TIMEOUT))
                .rank(rank)
                .worldSize(2)
                .timeout(expires(Duration.ofMillis(300)))
                .interop(interop)
                .build();
    }
}

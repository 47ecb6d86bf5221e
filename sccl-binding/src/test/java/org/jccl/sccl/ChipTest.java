package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.JcclException;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.DeviceTensors;
import org.jccl.testing.Questions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What each chip has of its own, in a wheel with the libraries of all: names, kernels, cores. */
@Execution(ExecutionMode.CONCURRENT)
final class ChipTest {

    private static final Path WHEEL = Path.of(System.getProperty("jccl.mocks"), "torch_tpu", "lib");

    /** Says what was found, and reduces on two ranks. */
    static final class Sum {

        private Sum() {}

        public static void main(String[] arguments) {
            System.out.println(new ScclProvider().availability());
            World.run(
                    2,
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                            tensor.copyFrom(new float[] {group.rank() + 1});
                            group.allReduce(tensor, ReduceOp.SUM).synchronize();
                            System.out.println("sum " + DeviceTensors.read(tensor)[0]);
                        }
                    });
        }
    }

    /** Looks for the libraries as on a host, where no property names them. */
    private static String[] properties() {
        return new String[] {
            "-Dorg.jccl.sccl.tpudnn=", "-Dorg.jccl.sccl.tpurt=", "-Dorg.jccl.sccl.library="
        };
    }

    private static Map<String, String> host(String... more) {
        Map<String, String> environment = new HashMap<>();
        environment.put("LD_LIBRARY_PATH", WHEEL.toString());
        for (int i = 0; i < more.length; i += 2) {
            environment.put(more[i], more[i + 1]);
        }
        return environment;
    }

    private static String sum(Map<String, String> environment) throws Exception {
        return ChildJvm.outputOf(Sum.class, environment, properties());
    }

    @ParameterizedTest
    @CsvSource({"'', sg2260", "sg2260, sg2260", "sg2260e, sg2260e", "bm1684x, bm1684x"})
    void theLibrariesAndKernelsOfAChipGoTogether(String chosen, String chip) throws Exception {
        assertThat(sum(host("CHIP_ARCH", chosen)))
                .contains("unknown for " + chip)
                .contains(WHEEL.resolve("libsccl.so").toString())
                .containsPattern("(?s)sum 3.0.*sum 3.0");
    }

    /** The runtime of the SG2260E does not start with another number. */
    @Test
    void theCoresThatTheUserNamesAreNotReplaced() throws Exception {
        assertThat(
                        Questions.whyUnavailable(
                                "sccl",
                                host("CHIP_ARCH", "sg2260e", "TPU_RT_CORE_NUM", "8"),
                                properties()))
                .contains("tpuInit failed: tpuErrorFailure")
                .contains("TPU_RT_CORE_NUM was not 4 when the library was loaded");
    }

    /** Reduces on one device, and prints why that failed. */
    static final class Refused {

        private Refused() {}

        public static void main(String[] arguments) {
            try (Tensor tensor = Tensor.allocate(World.tpu(0), DataType.FLOAT32, 1)) {
                tensor.copyFrom(new float[] {1});
                System.out.println("not refused");
            } catch (JcclException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"sg2260", "sg2260e", "bm1684x"})
    void kernelsOfAnotherChipAreRefused(String chip, @TempDir Path folder) throws Exception {
        String other = chip.equals("sg2260") ? "sg2260e" : "sg2260";
        Path kernels = kernels(folder, other);
        String output =
                ChildJvm.outputOf(
                        Refused.class,
                        host("CHIP_ARCH", chip, "TPUKERNEL_FIRMWARE_PATH", kernels.toString()),
                        properties());
        assertThat(output)
                .contains("tpuKernelModuleLoadFromFile returned nothing for " + kernels)
                .contains("set TPUKERNEL_FIRMWARE_PATH to the file of kernels of this chip")
                .contains("the kernels are not for the " + chip)
                .doesNotContain("not refused");
    }

    private static Path kernels(Path folder, String chip) throws IOException {
        return Files.writeString(folder.resolve("kernel_module.so"), "mock kernels for " + chip);
    }
}

package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Libraries without error texts, references and operators, as a simulator of NPUs has them. */
@Tag("all")
final class SimulatorTest {

    /** Sums on two ranks, and asks for an average, which needs operators. */
    static final class Sums {

        private Sums() {}

        public static void main(String[] arguments) {
            World.run(
                    2,
                    enough(Duration.ofSeconds(12)),
                    HcclOptions.defaults(),
                    (group, device) -> {
                        try (Tensor tensor = Tensor.allocate(device, DataType.INT32, 4)) {
                            tensor.copyFrom(new int[] {1, 2, 3, 4});
                            group.allReduce(tensor, ReduceOp.SUM).synchronize();
                            assertThat(tensor.copyTo(new int[4])).containsExactly(2, 4, 6, 8);
                            Tensor floats = Tensor.allocate(device, DataType.FLOAT32, 4);
                            try (floats) {
                                group.allReduce(floats, ReduceOp.AVG);
                            } catch (UsageException e) {
                                System.out.println("refused: " + e.getMessage());
                            }
                            group.allReduce(tensor, ReduceOp.SUM).synchronize();
                        }
                    });
            System.out.println("text: " + CannErrors.text(107002));
            System.out.println("all closed");
        }
    }

    @Test
    void theBindingStartsAndSaysWhatItLacks() throws Exception {
        Path libraries =
                Path.of(System.getProperty(HcclLibrary.ACL.property))
                        .resolveSibling("cann-simulator");
        if (!libraries.toFile().exists()) { // the variants of older releases
            libraries = libraries.getParent().resolveSibling("cann-simulator");
        }
        assertThat(
                        ChildJvm.outputOf(
                                Sums.class,
                                Map.of("MOCK_HCCL_CHIP", "A5"),
                                "-D"
                                        + HcclLibrary.ACL.property
                                        + "="
                                        + libraries.resolve("libascendcl.so"),
                                "-D"
                                        + HcclLibrary.HCCL.property
                                        + "="
                                        + libraries.resolve("libhccl.so")))
                .contains("the reduction AVG needs CANN's operators")
                .contains("refused: ", "AVG")
                .contains("text: this thread has no device\n")
                .contains("all closed");
    }
}

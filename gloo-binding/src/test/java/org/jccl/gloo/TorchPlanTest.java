package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Random operations on random groups of Java and Python ranks that are stopped now and then. */
@EnabledIfEnvironmentVariable(
        named = TorchPlanTest.PLANS,
        matches = "\\d+",
        disabledReason =
                "random plans with PyTorch's ranks take minutes; JCCL_TEST_TORCH_PLANS is how many")
@Timeout(value = 600, unit = TimeUnit.SECONDS)
@Tag("all")
class TorchPlanTest {

    static final String PLANS = "JCCL_TEST_TORCH_PLANS";

    static LongStream seeds() {
        return LongStream.rangeClosed(1, Long.parseLong(System.getenv(PLANS)));
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void ranksThatAreLateEndWithTheRightResults(long seed, @TempDir Path logs) throws Exception {
        String[] placements = {"JPJ", "PJJP", "JPJPJ"};
        String placement = placements[(int) (seed % placements.length)];
        assertThat(TorchPlanJob.run(seed, 300, placement, true, logs)).isEmpty();
    }
}

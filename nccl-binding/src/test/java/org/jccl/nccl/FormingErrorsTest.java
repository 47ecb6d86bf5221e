package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.jccl.testing.Patience;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What NCCL refuses when a communicator is formed, with what to do about it. */
@Timeout(120)
@Tag("mocked-nccl")
@Tag("all")
final class FormingErrorsTest {

    /** Two ranks, which say on one line each what came of it. */
    static final class Main {

        private Main() {}

        public static void main(String[] arguments) {
            Store store = HashStore.create(World.TIMEOUT);
            NcclOptions options =
                    NcclOptions.builder().blocking(Boolean.getBoolean("blocking")).build();
            List<CompletableFuture<String>> ranks = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                int rank = i;
                ranks.add(CompletableFuture.supplyAsync(() -> outcome(store, rank, options)));
            }
            ranks.forEach(rank -> System.out.println(rank.join()));
            System.exit(0);
        }

        private static String outcome(Store store, int rank, NcclOptions options) {
            try (ProcessGroup group = World.join(store, rank, 2, Patience.NEVER, options)) {
                return "joined " + group.size();
            } catch (JcclException e) {
                return "failed " + e.getMessage();
            }
        }
    }

    private static List<String> outcomes(boolean blocking, Map<String, String> environment)
            throws Exception {
        return ChildJvm.outputOf(Main.class, environment, "-Dblocking=" + blocking)
                .lines()
                .filter(line -> line.startsWith("joined") || line.startsWith("failed"))
                .toList();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void slicesOfOneGpuAreNamedAndTheVersionThatTakesThem(boolean blocking) throws Exception {
        Map<String, String> older = Map.of("MOCK_MIG", "1", "MOCK_NCCL_VERSION", "22907");
        assertThat(outcomes(blocking, older))
                .hasSize(2)
                .allSatisfy(
                        line ->
                                assertThat(line)
                                        .contains("Duplicate GPU detected", "a GPU of its own")
                                        .contains("MIG slices", "NCCL 2.30.7 or later"));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void fullSharedMemoryIsNamedWithItsSizeAndHowToEnlargeIt(boolean blocking) throws Exception {
        assertThat(outcomes(blocking, Map.of("MOCK_NCCL_SHM_FULL", "1")))
                .hasSize(2)
                .allSatisfy(
                        line ->
                                assertThat(line)
                                        .contains("/dev/shm/nccl-", "No space left on device")
                                        .containsPattern("/dev/shm has \\d+ MiB here, \\d+ of")
                                        .contains("--shm-size=1g", "NCCL_SHM_DISABLE=1")
                                        .doesNotContain("NCCL_SOCKET_IFNAME"));
    }

    /** NCCL would let them wait until the time to join is over. */
    @ParameterizedTest
    @CsvSource({"true, 0", "true, 1", "false, 0", "false, 1"})
    void theOthersLearnWhichRankFailedAndWhy(boolean blocking, int rank) throws Exception {
        List<String> outcomes =
                outcomes(blocking, Map.of("MOCK_NCCL_MEMORY_FULL", String.valueOf(rank)));
        assertThat(outcomes).hasSize(2);
        assertThat(outcomes.get(rank))
                .contains("failed", "Failed to CUDA calloc")
                .doesNotContain("did not finish");
        assertThat(outcomes.get(1 - rank)).contains("rank " + rank + " ", "Failed to CUDA calloc");
    }
}

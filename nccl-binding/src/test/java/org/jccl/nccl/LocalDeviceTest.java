package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The device of a rank that names none. */
@Timeout(120)
@Tag("mocked-nccl")
final class LocalDeviceTest {

    /** A world of one, as its variables describe it. */
    static final class Alone {

        private Alone() {}

        public static void main(String[] arguments) {
            try (ProcessGroup group = ProcessGroup.init("nccl")) {
                System.out.println("joined " + group.devices());
            } catch (JcclException e) {
                System.out.println("failed " + e.exitCode() + " " + e.getMessage());
            }
        }
    }

    /** Two ranks of this host that do not know their local ranks. */
    static final class Unknown {

        private Unknown() {}

        public static void main(String[] arguments) {
            Store store = HashStore.create(enough(Duration.ofSeconds(60)));
            List<CompletableFuture<String>> ranks =
                    IntStream.range(0, 2)
                            .mapToObj(
                                    rank ->
                                            CompletableFuture.supplyAsync(
                                                    () -> outcome(store, rank)))
                            .toList();
            ranks.forEach(rank -> System.out.println(rank.join()));
            System.exit(0);
        }

        private static String outcome(Store store, int rank) {
            try (ProcessGroup group =
                    ProcessGroup.builder()
                            .backend("nccl")
                            .store(store)
                            .rank(rank)
                            .worldSize(2)
                            .timeout(expires(Duration.ofSeconds(4)))
                            .build()) {
                return "joined " + group.devices();
            } catch (JcclException e) {
                return "failed " + e.exitCode() + " " + e.getMessage();
            }
        }
    }

    private static String alone(String devices, Map<String, String> local) throws Exception {
        Map<String, String> environment = new HashMap<>(local);
        environment.put("MOCK_DEVICES", devices);
        environment.put("MASTER_ADDR", "127.0.0.1");
        environment.put("MASTER_PORT", "0");
        return ChildJvm.outputOf(Alone.class, environment);
    }

    @ParameterizedTest
    @CsvSource({"LOCAL_RANK, RANK, WORLD_SIZE", "PALS_LOCAL_RANKID, PALS_RANKID, PMI_SIZE"})
    void theLocalRankIsTheDevice(String local, String rank, String size) throws Exception {
        assertThat(alone("4", Map.of(local, "2", rank, "0", size, "1")))
                .contains("joined [cuda:2]");
    }

    @Test
    void aDeviceThatTheProcessDoesNotSeeIsAnErrorOfUseWithBothWaysOut() throws Exception {
        assertThat(alone("1", Map.of("LOCAL_RANK", "1", "RANK", "0", "WORLD_SIZE", "1")))
                .contains("failed 64 ", "local rank 1 and needs cuda:1", "sees 1 cuda device:")
                .contains("device(...)", "--gpus-per-node");
    }

    @Test
    void ranksOfAHostThatDoNotKnowTheirLocalRanksDoNotShareADevice() throws Exception {
        assertThat(ChildJvm.outputOf(Unknown.class, Map.of("MOCK_DEVICES", "4")))
                .doesNotContain("joined")
                .contains("failed 64 ", "does not know its local rank", "LOCAL_RANK");
    }
}

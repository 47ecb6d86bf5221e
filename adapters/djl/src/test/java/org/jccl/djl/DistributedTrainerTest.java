package org.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.loss.Loss;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.launch.ProcessLauncher;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;

/** Ranks are processes, since DJL collects gradients on one thread of a process. */
class DistributedTrainerTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(100));

    /** What each rank printed about each case. */
    private static List<List<String>> run(int ranks, String... cases) {
        List<TreeMap<Integer, List<String>>> said = new ArrayList<>();
        for (int i = 0; i < cases.length; i++) {
            said.add(new TreeMap<>());
        }
        List<String> names = Arrays.asList(cases);
        ProcessLauncher.builder(ranks)
                .mainClass(RankMain.class, cases)
                .jvmArguments(
                        "-XX:TieredStopAtLevel=1",
                        "-Dai.djl.pytorch.num_threads=1",
                        "-Dai.djl.offline=true",
                        "-DOPT_OUT_TRACKING=true",
                        "-DDJL_CACHE_DIR=" + System.getProperty("DJL_CACHE_DIR"))
                .timeout(TIMEOUT)
                .output(
                        (rank, error, line) -> {
                            int index = names.indexOf(line.replaceFirst(":.*", ""));
                            if (index < 0) {
                                System.err.println(rank + ": " + line);
                                return;
                            }
                            synchronized (said) {
                                said.get(index)
                                        .computeIfAbsent(rank, r -> new ArrayList<>())
                                        .add(line.substring(names.get(index).length() + 2));
                            }
                        })
                .build()
                .run();
        List<List<String>> flat = new ArrayList<>();
        said.forEach(ofCase -> flat.add(ofCase.values().stream().flatMap(List::stream).toList()));
        return flat;
    }

    @Test
    void twoRanksLearnAsOneAndAreRefusedWhatCanNotWork() {
        List<List<String>> said =
                run(
                        2,
                        "fit",
                        "frozen",
                        "shared",
                        "transposed",
                        "statistics",
                        "missing",
                        "different-shapes",
                        "different-frozen",
                        "unsupported-type",
                        "sampler",
                        "changed");
        for (int i = 0; i < 5; i++) {
            assertThat(said.get(i)).containsExactly("fine", "fine");
        }
        refused(
                said.get(5),
                "MissingGradientException: ",
                "'02sometimes_weight' (float32 x 32) on rank 1, '02sometimes_bias' (float32 x 4) on"
                        + " rank 1",
                "freeze(true)");
        refused(
                said.get(6),
                "DifferentModelsException: ",
                "rank 0 has '01Linear_weight' (float32 [16, 8]), rank 1 has"
                        + " '01Linear_weight' (float32 [12, 8])");
        assertThat(said.get(7)).hasSize(6);
        for (String line : List.of(said.get(7).get(0), said.get(7).get(1), said.get(7).get(4))) {
            assertThat(line)
                    .contains(
                            "DifferentModelsException: ",
                            "rank 0 has gradient 0 '01Linear_bias'",
                            "rank 1 has gradient 0 '01Linear_weight'");
        }
        refused(
                said.get(8),
                "UsageException: ",
                "constant is of complex64, which no group" + " supports");
        refused(
                said.get(9),
                "DifferentModelsException: ",
                "rank 0 has 96 samples, rank 1 has 95 samples");
        assertThat(said.get(10)).hasSize(6);
        assertThat(said.get(10).get(0)).contains("call initialize(...) first");
        assertThat(said.get(10).get(1)).contains("call initialize(...) again");
    }

    /** Both ranks said these words, and went on. */
    private static void refused(List<String> said, String... words) {
        assertThat(said).hasSize(4);
        assertThat(said.get(0)).contains(words);
        assertThat(said.get(1)).isEqualTo("fine");
        assertThat(said.get(2)).contains(words);
        assertThat(said.get(3)).isEqualTo("fine");
    }

    @Test
    void fourRanksLearnAsOne() {
        assertThat(run(4, "fit")).containsExactly(List.of("fine", "fine", "fine", "fine"));
    }

    @Test
    void otherDevicesAndMissingArgumentsAreRefused() {
        try (HashStore store = HashStore.create(TIMEOUT);
                ProcessGroup world =
                        ProcessGroup.builder()
                                .backend("gloo")
                                .store(store)
                                .rank(0)
                                .worldSize(1)
                                .build();
                Model model = Model.newInstance("none", Device.cpu())) {
            DefaultTrainingConfig config =
                    new DefaultTrainingConfig(Loss.l2Loss())
                            .optDevices(new Device[] {Device.gpu(0)});
            refused(model, config, world, "not on [gpu(0)]", "optDevices");
            config.optDevices(new Device[] {Device.cpu(), Device.cpu()});
            refused(model, config, world, "not on [cpu(), cpu()]");
            refused(null, config, world, "model is null");
            refused(model, null, world, "config is null");
            refused(model, config, null, "group is null");
        }
    }

    private static void refused(
            Model model, DefaultTrainingConfig config, ProcessGroup group, String... words) {
        assertThatThrownBy(() -> new DistributedTrainer(model, config, group))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll(words);
    }
}

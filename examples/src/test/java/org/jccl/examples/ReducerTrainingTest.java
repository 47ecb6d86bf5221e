package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.store.HashStore;
import org.jccl.training.GradientReducer;
import org.jccl.training.GradientReducerBuilder;
import org.junit.jupiter.api.Test;

/** The digits with a {@link GradientReducer}: all ranks learn what one rank learns. */
class ReducerTrainingTest {

    private static final int RANKS = 4;
    private static final int EPOCHS = 10;
    private static final int BATCH = 64;
    private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

    private final Digits.Split digits = Digits.load();

    @Test
    void ranksLearnWhatOneRankLearns() throws Exception {
        Network alone = new Network(1);
        train(alone, GradientAverage.OF_ONE_RANK, 0, 1);
        ExecutorService threads = Executors.newFixedThreadPool(RANKS);
        try (Store store = HashStore.create(TIMEOUT)) {
            List<Future<Proof>> proofs = new ArrayList<>();
            for (int i = 0; i < RANKS; i++) {
                int rank = i;
                proofs.add(threads.submit(() -> rank(store, rank, alone)));
            }
            for (Future<Proof> proof : proofs) {
                assertThat(proof.get()).matches(Proof::holds);
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private Proof rank(Store store, int rank, Network alone) {
        try (ProcessGroup world =
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(store)
                        .rank(rank)
                        .worldSize(RANKS)
                        .timeout(TIMEOUT)
                        .build()) {
            Network network = new Network(1);
            try (Reduced reduced = new Reduced(world, network)) {
                train(network, reduced, rank, RANKS);
                assertThat(reduced.buckets()).isEqualTo(2);
            }
            return Proof.of(world, network, alone);
        }
    }

    private void train(Network network, GradientAverage average, int rank, int ranks) {
        Trainer trainer = new Trainer(network, average, rank, ranks, BATCH, 1);
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            trainer.epoch(digits.train());
        }
    }

    /** A bucket for each layer. */
    private static final class Reduced implements GradientAverage, AutoCloseable {

        private final Network network;
        private final List<Tensor> tensors = new ArrayList<>();
        private final GradientReducer reducer;

        Reduced(ProcessGroup group, Network network) {
            this.network = network;
            GradientReducerBuilder builder = GradientReducer.builder(group).firstBucketBytes(1);
            for (Layer layer : network.layers()) {
                tensors.add(Tensor.allocate(Device.CPU, DataType.FLOAT32, layer.gradient.length));
                builder.gradient("layer " + tensors.size(), tensors.get(tensors.size() - 1));
            }
            reducer = builder.build();
        }

        int buckets() {
            return reducer.buckets().size();
        }

        @Override
        public void start(Layer layer) {
            int index = network.layers().indexOf(layer);
            tensors.get(index).copyFrom(layer.gradient);
            reducer.ready(index);
        }

        @Override
        public void finish() {
            reducer.finish();
            for (int i = 0; i < tensors.size(); i++) {
                tensors.get(i).copyTo(network.layers().get(i).gradient);
            }
        }

        @Override
        public void close() {
            reducer.close();
            tensors.forEach(Tensor::close);
        }
    }
}

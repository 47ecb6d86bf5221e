package org.jccl.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import ai.djl.ndarray.NDManager;
import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Record;
import ai.djl.util.Progress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.store.HashStore;
import org.jccl.training.DistributedSampler;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ShardedSamplerTest {

    private final Store store = HashStore.create(enough(Duration.ofSeconds(60)));
    private final ProcessGroup alone =
            ProcessGroup.builder().backend("gloo").store(store).rank(0).worldSize(1).build();

    @AfterEach
    void close() {
        alone.close();
        store.close();
    }

    /** Nothing but a size. */
    private static final class Sized extends RandomAccessDataset {

        private final long size;

        Sized(long size) {
            super(new Builder().setSampling(1, false));
            this.size = size;
        }

        private static final class Builder extends BaseBuilder<Builder> {
            @Override
            protected Builder self() {
                return this;
            }
        }

        @Override
        public Record get(NDManager manager, long index) {
            throw new UnsupportedOperationException();
        }

        @Override
        protected long availableSize() {
            return size;
        }

        @Override
        public void prepare(Progress progress) {}
    }

    private static List<List<Long>> all(ShardedSampler sampler, long size) {
        List<List<Long>> batches = new ArrayList<>();
        sampler.sample(new Sized(size)).forEachRemaining(batches::add);
        return batches;
    }

    @Test
    void eachEpochHasItsOrderInBatches() {
        ShardedSampler sampler = new ShardedSampler(alone, 4, options -> options.withSeed(5));
        DistributedSampler expected = DistributedSampler.of(alone, 10).withSeed(5);
        for (int epoch = 0; epoch < 3; epoch++) {
            List<List<Long>> batches = all(sampler, 10);
            assertThat(batches).extracting(List::size).containsExactly(4, 4, 2);
            assertThat(batches.stream().flatMap(List::stream).mapToInt(Long::intValue).toArray())
                    .isEqualTo(expected.indices(epoch));
        }
        assertThat(sampler.getBatchSize()).isEqualTo(4);
        assertThat(all(sampler, 0)).isEmpty();
        assertThat(all(new ShardedSampler(alone, Integer.MAX_VALUE), 3))
                .extracting(List::size)
                .containsExactly(3);
    }

    @Test
    void whatCanNotWorkIsRefused() {
        refused(() -> new ShardedSampler(null, 4), "group is null");
        refused(() -> new ShardedSampler(alone, 4, null), "options is null");
        refused(() -> new ShardedSampler(alone, 0), "batchSize must be at least 1, got 0");
        refused(() -> all(new ShardedSampler(alone, 1), 1L << 31), "2147483648 samples");
    }

    private static void refused(Runnable call, String words) {
        assertThatThrownBy(call::run)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(words);
    }
}

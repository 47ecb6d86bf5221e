package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.store.HashStore;
import org.jccl.training.Checkpoint;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class LastCheckpointTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

    @TempDir private Path folder;

    private interface Body {
        void run(ProcessGroup world);
    }

    private static void onTwoRanks(Body body) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try (Store store = HashStore.create(TIMEOUT)) {
            List<Future<?>> ranks = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                int rank = i;
                ranks.add(threads.submit(() -> rank(store, rank, body)));
            }
            for (Future<?> rank : ranks) {
                rank.get();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static void rank(Store store, int rank, Body body) {
        try (ProcessGroup world =
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(store)
                        .rank(rank)
                        .worldSize(2)
                        .timeout(TIMEOUT)
                        .build()) {
            body.run(world);
        }
    }

    private static void save(ProcessGroup world, Path directory, int steps) {
        Map<String, String> texts = Map.of("steps", Integer.toString(steps));
        Checkpoint.save(world, directory, List.of(), texts);
    }

    @Test
    void ranksGoOnFromTheSameOneOnly() throws Exception {
        Path one = folder.resolve("one");
        Path other = folder.resolve("other");
        onTwoRanks(
                world -> {
                    assertThat(LastCheckpoint.open(world, one, "steps")).isEmpty();
                    save(world, one, 3);
                    assertThat(LastCheckpoint.open(world, one, "steps").orElseThrow().metadata())
                            .containsEntry("steps", "3");
                    Path seen = world.rank() == 0 ? one : other;
                    // As on a host that does not see it yet.
                    different("steps are [3, -1]", world, seen);
                    save(world, other, 2);
                    different("steps are [3, 2]", world, seen);
                });
    }

    private static void different(String words, ProcessGroup world, Path directory) {
        assertThatThrownBy(() -> LastCheckpoint.open(world, directory, "steps"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(words)
                .hasMessageContaining("start again");
    }
}

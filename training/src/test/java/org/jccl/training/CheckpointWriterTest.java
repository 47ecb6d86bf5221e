package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
final class CheckpointWriterTest {

    private static final int COUNT = 1000;

    @TempDir private Path directory;

    private static List<Shard> shards(ProcessGroup group, Tensor part, Tensor all) {
        return List.of(
                Shard.part("parts", (long) COUNT * group.rank(), part, COUNT * group.size()),
                Shard.replicated("all", all, COUNT));
    }

    private void requireSaved(int ranks, float value) {
        Checkpoint checkpoint = Checkpoint.open(directory);
        assertThat(checkpoint.metadata()).isEqualTo(Map.of("value", Float.toString(value)));
        Tensor parts = TestRanks.filled(ranks * COUNT, -1);
        Tensor all = TestRanks.filled(COUNT, -1);
        checkpoint.load(
                List.of(
                        Shard.part("parts", 0, parts, ranks * COUNT),
                        Shard.replicated("all", all, COUNT)));
        assertThat(TestRanks.values(parts)).containsOnly(value);
        assertThat(TestRanks.values(all)).containsOnly(value);
    }

    private static void fill(Tensor tensor, float value) {
        tensor.copyFrom(TestRanks.filled(COUNT, value));
    }

    @Test
    void savesWhatTheTensorsWereWhileTrainingContinues() {
        TestRanks.onCpu(
                3,
                group -> {
                    Tensor part = TestRanks.filled(COUNT, 0);
                    Tensor all = TestRanks.filled(COUNT, 0);
                    List<Shard> shards = new ArrayList<>(shards(group, part, all));
                    try (CheckpointWriter writer = CheckpointWriter.of(group)) {
                        for (int value = 1; value <= 5; value++) {
                            fill(part, value);
                            fill(all, value);
                            writer.save(directory, shards, Map.of("value", Float.toString(value)));
                            fill(part, -value);
                            fill(all, -value);
                            for (int i = 0; i < 20; i++) {
                                Tensor sum = TestRanks.floats(1);
                                group.allReduce(sum, ReduceOp.SUM).await();
                                assertThat(TestRanks.values(sum)).containsExactly(3);
                            }
                            if (value == 3) {
                                writer.await();
                                group.sync().barrier();
                                requireSaved(3, 3);
                                group.sync().barrier();
                            }
                        }
                        shards.clear();
                    }
                    group.sync().barrier();
                    requireSaved(3, 5);
                });
    }

    @Test
    void aFailedSaveIsReportedOnceOnAllRanks() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "");
        TestRanks.onCpu(
                2,
                group -> {
                    Tensor part = TestRanks.filled(COUNT, 7);
                    Tensor all = TestRanks.filled(COUNT, 7);
                    Tensor differs = TestRanks.filled(COUNT, group.rank());
                    Map<String, String> texts = Map.of("value", "7.0");
                    CheckpointWriter writer = CheckpointWriter.of(group);
                    writer.save(file, shards(group, part, all), texts);
                    fails(
                            "cannot lock the directory",
                            () -> writer.save(directory, List.of(), texts));
                    writer.save(directory, shards(group, part, all), texts);
                    writer.save(directory, shards(group, part, differs), texts);
                    assertThatThrownBy(writer::await)
                            .isInstanceOf(DifferentModelsException.class)
                            .hasMessageContaining("'all'");
                    writer.await();
                    // Closed tensors of one rank fail on all.
                    Tensor closed = Tensor.copyOf(new float[COUNT]);
                    if (group.rank() == 1) {
                        closed.close();
                    }
                    writer.save(directory, shards(group, closed, all), texts);
                    fails("closed", writer::close);
                    closed.close();
                    writer.close();
                    assertThatThrownBy(() -> writer.save(directory, List.of(), texts))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("is closed");
                });
        requireSaved(2, 7);
    }

    private static void fails(String words, ThrowingCallable call) {
        assertThatThrownBy(call).hasMessageContaining(words);
    }

    @Test
    void wrongUseIsRefused() {
        assertThatThrownBy(() -> CheckpointWriter.of(null))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("group is null");
        TestRanks.onDevices(
                2,
                group ->
                        assertThatThrownBy(() -> CheckpointWriter.of(group))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("needs a group on the CPU"));
        TestRanks.onCpu(
                2,
                group -> {
                    try (CheckpointWriter writer = CheckpointWriter.of(group)) {
                        assertThatThrownBy(() -> writer.save(directory, null, Map.of()))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("shards or metadata is null");
                    }
                });
    }

    /** One copy at a time, in the same memory. */
    @Test
    void copiesUseTheirMemoryAgain() {
        try (HostCopies copies = new HostCopies()) {
            Tensor tensor = TestRanks.filled(COUNT, 1);
            Tensor first = copies.of(List.of(Shard.replicated("a", tensor, COUNT))).get(0).tensor();
            fill(tensor, 2);
            Tensor second =
                    copies.of(List.of(Shard.replicated("a", tensor, COUNT))).get(0).tensor();
            assertThat(second.address()).isEqualTo(first.address());
            assertThat(TestRanks.values(second)).containsOnly(2);
            Tensor small = TestRanks.filled(3, 3);
            Tensor third = copies.of(List.of(Shard.replicated("a", small, 3))).get(0).tensor();
            assertThat(TestRanks.values(third)).containsOnly(3);
            fails("is closed", () -> TestRanks.values(second));
            copies.of(List.of());
            fails("is closed", () -> TestRanks.values(third));
        }
    }
}

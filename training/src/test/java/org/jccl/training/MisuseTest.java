package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.gloo.GlooOptions;
import org.jccl.store.HashStore;
import org.jccl.testing.Misuse;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Everything public, called with wrong arguments in a world of one rank. */
@Timeout(180)
final class MisuseTest {

    private final List<AutoCloseable> opened = new ArrayList<>();
    private ProcessGroup world;
    private ProcessGroup closed;
    @TempDir private Path directory;

    @BeforeEach
    void join() {
        world = group();
        closed = group();
        closed.close();
    }

    @AfterEach
    void leave() throws Exception {
        for (AutoCloseable each : opened) {
            each.close();
        }
    }

    private <T extends AutoCloseable> T opened(T what) {
        opened.add(0, what);
        return what;
    }

    private ProcessGroup group() {
        return opened(
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(HashStore.create(enough(Duration.ofSeconds(20))))
                        .rank(0)
                        .worldSize(1)
                        .timeout(enough(Duration.ofSeconds(20)))
                        .options(GlooOptions.onHost("127.0.0.1"))
                        .build());
    }

    private static NamedTensor named(String name, int count) {
        return NamedTensor.of(name, TestRanks.filled(count, 1), count);
    }

    private GradientReducer reducer() {
        return opened(
                GradientReducer.builder(world)
                        .gradient("a", TestRanks.filled(2, 1))
                        .gradient("b", DataType.FLOAT32, 3)
                        .onRebuild(() -> {})
                        .build());
    }

    private ShardedParameters sharded() {
        return opened(
                ShardedParameters.builder(world).unit("unit", List.of(named("x", 2))).build());
    }

    private Checkpoint checkpoint() {
        Path place = directory.resolve("checkpoint");
        Checkpoint.save(world, place, sharded().shards(), Map.of());
        return Checkpoint.open(place);
    }

    private Path file() throws Exception {
        Path place = directory.resolve("file.safetensors");
        SafetensorsFile.write(place, List.of(named("x", 2)), Map.of());
        return place;
    }

    private record OneTensor(Tensor weights) implements Replica {
        @Override
        public List<Tensor> tensors() {
            return List.of(weights);
        }

        @Override
        public void apply() {}
    }

    private static Commit commit() {
        return new Commit(new OneTensor(TestRanks.filled(2, 1)));
    }

    private Commit entered() {
        Commit commit = commit();
        commit.enter(world);
        return commit;
    }

    private DeviceMesh mesh() {
        return opened(DeviceMesh.of(world, new int[] {1, 1}, "dp", "tp"));
    }

    private static <T extends AutoCloseable> T ended(T what) throws Exception {
        what.close();
        return what;
    }

    @Test
    void nothingPublicTakesWrongArgumentsBadly() {
        Misuse misuse =
                new Misuse()
                        .with(ProcessGroup.class, rank -> world, rank -> closed)
                        .with(Device.class, rank -> Device.CPU, rank -> new Device("abacus", 7))
                        .with(FailureContext.class, rank -> FailureContext.NONE)
                        .with(
                                Tensor.class,
                                rank -> TestRanks.filled(2, 1),
                                rank -> TestRanks.filled(0, 1),
                                rank -> ended(TestRanks.filled(2, 1)),
                                rank -> Tensor.allocate(Device.CPU, DataType.INT32, 2))
                        .with(NamedTensor.class, rank -> named("x", 2), rank -> named("y", 0))
                        .with(Shard.class, rank -> Shard.part("x", 0, TestRanks.filled(2, 1), 4))
                        .with(Checkpoint.class, rank -> checkpoint())
                        .with(
                                CheckpointWriter.class,
                                rank -> CheckpointWriter.of(world),
                                rank -> ended(CheckpointWriter.of(world)))
                        .with(SafetensorsFile.class, rank -> SafetensorsFile.open(file()))
                        .with(GradientReducer.class, rank -> reducer(), rank -> ended(reducer()))
                        .with(
                                GradientReducerBuilder.class,
                                rank ->
                                        GradientReducer.builder(world)
                                                .gradient("a", TestRanks.filled(2, 1)),
                                rank -> GradientReducer.builder(closed))
                        .with(GradientReducer.NoSync.class, rank -> reducer().noSync())
                        .with(BucketMemory.class, rank -> (BucketMemory) Tensor::allocate)
                        .with(ShardedParameters.class, rank -> sharded(), rank -> ended(sharded()))
                        .with(
                                ShardedParametersBuilder.class,
                                rank -> ShardedParameters.builder(world),
                                rank -> ShardedParameters.builder(closed))
                        .with(ShardedUnit.class, rank -> sharded().units().get(0))
                        .with(
                                ShardUpdate.class,
                                rank -> (ShardUpdate) (unit, parameters, gradients) -> {})
                        .with(Metrics.class, rank -> Metrics.of(world), rank -> Metrics.of(closed))
                        .with(DeviceMesh.class, rank -> mesh(), rank -> ended(mesh()))
                        .with(Replica.class, rank -> new OneTensor(TestRanks.filled(2, 1)))
                        .with(Commit.class, rank -> commit(), rank -> entered())
                        .with(Commit.Step.class, rank -> (Commit.Step) (group, step) -> true)
                        .with(DistributedSampler.class, rank -> DistributedSampler.of(world, 10));
        assertThat(misuse.faults(GradientReducer.class)).isEmpty();
    }
}

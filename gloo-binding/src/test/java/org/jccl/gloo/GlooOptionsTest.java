package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

final class GlooOptionsTest {

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"", " "})
    void aNameIsNotBlank(String name) {
        assertThatThrownBy(() -> GlooOptions.onHost(name)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> GlooOptions.onInterface(name)).isInstanceOf(UsageException.class);
    }

    @Test
    void nothingIsNull() {
        assertThatThrownBy(() -> new GlooOptions(null, Optional.empty(), Duration.ZERO))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> new GlooOptions(Optional.empty(), null, Duration.ZERO))
                .isInstanceOf(UsageException.class);
    }

    @ParameterizedTest
    @NullSource
    @ValueSource(strings = {"PT-1S", "PT1.1S"})
    void busyPollingHasLimits(Duration duration) {
        assertThatThrownBy(() -> GlooOptions.defaults().withBusyPolling(duration))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("busy polling");
    }

    @Test
    void optionsAddUp() {
        assertThat(GlooOptions.onHost("127.0.0.1").withBusyPolling(Duration.ofMillis(1)))
                .isEqualTo(
                        new GlooOptions(
                                Optional.empty(), Optional.of("127.0.0.1"), Duration.ofMillis(1)));
    }

    /** One rank comes later than the other looks for it. */
    @Test
    void busyPollingGivesTheSameResults() throws Exception {
        HashStore store = HashStore.create(Ranks.TIMEOUT);
        ExecutorService threads = Executors.newFixedThreadPool(2);
        List<Future<float[]>> results = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            int rank = i;
            results.add(
                    threads.submit(
                            () -> {
                                try (ProcessGroup group =
                                        ProcessGroup.builder()
                                                .backend("gloo")
                                                .store(store)
                                                .rank(rank)
                                                .worldSize(2)
                                                .options(
                                                        GlooOptions.onHost("127.0.0.1")
                                                                .withBusyPolling(
                                                                        Duration.ofMillis(1)))
                                                .build()) {
                                    try (Tensor tensor =
                                            Tensor.allocate(Device.CPU, DataType.FLOAT32, 2)) {
                                        tensor.copyFrom(new float[] {rank + 1, 10});
                                        Thread.sleep(rank * 60);
                                        for (int step = 0; step < 100; step++) {
                                            group.sync().allReduce(tensor, ReduceOp.AVG);
                                        }
                                        return tensor.copyTo(new float[2]);
                                    }
                                }
                            }));
        }
        threads.shutdown();
        for (Future<float[]> result : results) {
            assertThat(result.get()).containsExactly(1.5f, 10);
        }
    }

    private static ProcessGroupBuilder builder(String backend, Device device) {
        return ProcessGroup.builder()
                .backend(backend)
                .device(device)
                .store(HashStore.create(Ranks.TIMEOUT))
                .rank(0)
                .worldSize(1)
                .options(GlooOptions.onHost("127.0.0.1"));
    }

    /** The group would be one for host memory otherwise, and nobody would know. */
    @ParameterizedTest
    @ValueSource(strings = {"gloo", "GLOO", "cpu:gloo"})
    void aDeviceThatNoBackendTakesIsRefused(String backend) {
        assertThatThrownBy(builder(backend, new Device("cuda", 0))::build)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("no backend of the group takes the device cuda:0")
                .hasMessageContaining("gloo on cpu");
        try (ProcessGroup group = builder(backend, Device.CPU).build()) {
            assertThat(group.backend("cpu")).contains("gloo");
        }
    }
}

package org.jccl.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.GroupInfo;
import org.jccl.GroupListener;
import org.jccl.JcclException;
import org.jccl.OperationInfo;
import org.jccl.OperationTime;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class JcclMetricsTest {

    private static final Duration TIMEOUT = Duration.ofSeconds(60);
    private static final GroupInfo WORLD = group("world");

    private final MeterRegistry registry = new SimpleMeterRegistry();
    private final JcclMetrics metrics = new JcclMetrics(registry);

    private static GroupInfo group(String name) {
        return new GroupInfo(name, 0, 2, List.of(0, 1), "gloo", Device.CPU);
    }

    private static OperationInfo allReduce(GroupInfo group, long bytes) {
        return new OperationInfo(
                group,
                "allReduce",
                true,
                0,
                -1,
                Optional.of(DataType.FLOAT32),
                bytes,
                Instant.EPOCH);
    }

    private static OperationTime millis(long millis) {
        return new OperationTime(Duration.ofMillis(millis), Optional.empty());
    }

    private static JcclException lost() {
        return new PeerLostException(FailureContext.NONE, "rank 1 is gone");
    }

    /** A world of two ranks of Gloo, as threads; rank 0 has a listener. */
    private static void run(GroupListener listener, Consumer<ProcessGroup> body) throws Exception {
        HashStore store = HashStore.create(TIMEOUT);
        CompletableFuture<Void> other = new CompletableFuture<>();
        Thread thread =
                new Thread(
                        () -> {
                            try (ProcessGroup world =
                                    ProcessGroup.builder()
                                            .backend("gloo")
                                            .store(store)
                                            .rank(1)
                                            .worldSize(2)
                                            .timeout(TIMEOUT)
                                            .build()) {
                                body.accept(world);
                                other.complete(null);
                            } catch (Throwable e) {
                                other.completeExceptionally(e);
                            }
                        });
        thread.setDaemon(true);
        thread.start();
        try (ProcessGroup world =
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(store)
                        .rank(0)
                        .worldSize(2)
                        .timeout(TIMEOUT)
                        .listener(listener)
                        .build()) {
            body.accept(world);
        }
        other.get(60, TimeUnit.SECONDS);
    }

    @Test
    void aWorldOfGlooIsCounted() throws Exception {
        run(
                metrics,
                world -> {
                    try (Tensor tensor = Tensor.allocate(Device.CPU, DataType.FLOAT32, 256);
                            ProcessGroup pair = world.newGroup(List.of(0, 1)).orElseThrow()) {
                        for (int i = 0; i < 3; i++) {
                            world.allReduce(tensor, ReduceOp.SUM).await();
                        }
                        pair.sync().broadcast(tensor, 0);
                        pair.sync().barrier();
                    }
                });
        assertThat(
                        registry.get("jccl.operation")
                                .tags("backend", "gloo", "group", "world", "operation", "allReduce")
                                .tag("exception", "none")
                                .timer()
                                .count())
                .isEqualTo(3);
        assertThat(
                        registry.get("jccl.operation.bytes")
                                .tags("group", "world", "operation", "allReduce")
                                .summary()
                                .totalAmount())
                .isEqualTo(3 * 1024);
        assertThat(
                        registry.get("jccl.operation")
                                .tags("group", "subgroup", "operation", "broadcast")
                                .timer()
                                .totalTime(TimeUnit.NANOSECONDS))
                .isPositive();
        for (String group : List.of("world", "subgroup")) {
            assertThat(
                            registry.get("jccl.operation.outstanding")
                                    .tag("group", group)
                                    .gauge()
                                    .value())
                    .isZero();
            assertThat(registry.get("jccl.group.open").tag("group", group).gauge().value())
                    .isZero();
            assertThat(registry.get("jccl.group.creation").tag("group", group).timer().count())
                    .isEqualTo(1);
        }
        assertThat(registry.get("jccl.operation.missed").counter().count()).isZero();
        assertThat(registry.find("jccl.operation.device").timer()).isNull();
        assertThat(registry.find("jccl.group.failed").counter()).isNull();
    }

    @Test
    void failuresAndStallsAreCountedByKind() {
        metrics.groupMade(WORLD, Duration.ofSeconds(2));
        metrics.operationStarted(allReduce(WORLD, 8));
        metrics.operationStarted(allReduce(WORLD, 8));
        metrics.operationStalled(allReduce(WORLD, 8), Duration.ofSeconds(11));
        assertThat(registry.get("jccl.operation.outstanding").gauge().value()).isEqualTo(2);
        metrics.operationFailed(allReduce(WORLD, 8), millis(30), lost());
        metrics.groupFailed(WORLD, lost());
        metrics.operationsMissed(7);
        assertThat(registry.get("jccl.operation.outstanding").gauge().value()).isEqualTo(1);
        assertThat(
                        registry.get("jccl.operation")
                                .tag("exception", "PeerLostException")
                                .timer()
                                .totalTime(TimeUnit.MILLISECONDS))
                .isEqualTo(30);
        assertThat(registry.find("jccl.operation.bytes").summary()).isNull();
        assertThat(registry.get("jccl.operation.stalled").counter().count()).isEqualTo(1);
        assertThat(
                        registry.get("jccl.group.failed")
                                .tag("exception", "PeerLostException")
                                .counter()
                                .count())
                .isEqualTo(1);
        assertThat(registry.get("jccl.operation.missed").counter().count()).isEqualTo(7);
        // One never came back, and its group is closed.
        metrics.groupClosed(WORLD);
        assertThat(registry.get("jccl.operation.outstanding").gauge().value()).isZero();
    }

    @Test
    void theDevicesOwnTimeIsATimerOfItsOwn() {
        metrics.groupMade(WORLD, Duration.ofSeconds(2));
        metrics.operationStarted(allReduce(WORLD, 8));
        metrics.operationCompleted(
                allReduce(WORLD, 8),
                new OperationTime(Duration.ofMillis(90), Optional.of(Duration.ofMillis(4))));
        assertThat(
                        registry.get("jccl.operation.device")
                                .tag("operation", "allReduce")
                                .timer()
                                .totalTime(TimeUnit.MILLISECONDS))
                .isEqualTo(4);
    }

    @Test
    void groupsWithoutEndMakeNoMetersWithoutEnd() {
        JcclMetrics named =
                new JcclMetrics(
                        registry, Tags.of("rank", "3"), GroupInfo::name, Duration.ofHours(1));
        assertThat(named.stallThreshold()).isEqualTo(Duration.ofHours(1));
        for (int i = 0; i < 1000; i++) {
            GroupInfo group = group("world/0,1#" + i);
            named.groupMade(group, Duration.ofMillis(1));
            named.operationStarted(allReduce(group, 4));
            named.operationCompleted(allReduce(group, 4), millis(1));
            named.groupClosed(group);
        }
        assertThat(registry.find("jccl.operation").tag("rank", "3").timers()).hasSize(33);
        assertThat(registry.get("jccl.operation").tag("group", "other").timer().count())
                .isEqualTo(1000 - 32);
        assertThat(registry.get("jccl.operation").tag("group", "world/0,1#0").timer().count())
                .isEqualTo(1);
    }

    @Test
    void withoutAnOpinionTwoTagsAreAllThereIs() {
        for (int i = 0; i < 100; i++) {
            GroupInfo group = group("world/split" + i + "-0");
            metrics.groupMade(group, Duration.ofMillis(1));
            metrics.operationStarted(allReduce(group, 4));
            metrics.operationFailed(
                    allReduce(group, 4),
                    millis(1),
                    new OperationTimeoutException(FailureContext.NONE, "late"));
            metrics.groupClosed(group);
        }
        assertThat(registry.getMeters())
                .extracting(Meter::getId)
                .extracting(id -> id.getTag("group"))
                .containsOnly("subgroup", null);
        assertThat(registry.getMeters()).hasSizeLessThan(8);
    }

    @Test
    void aNullIsRefusedAtOnce() {
        assertThatThrownBy(() -> new JcclMetrics(null)).isInstanceOf(NullPointerException.class);
        assertThatThrownBy(
                        () ->
                                new JcclMetrics(
                                        registry, List.<Tag>of(), null, Duration.ofSeconds(1)))
                .hasMessageContaining("groupTag");
    }

    @Test
    void prometheusGetsOrdinaryNames() {
        PrometheusMeterRegistry prometheus = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        JcclMetrics scraped = new JcclMetrics(prometheus);
        scraped.groupMade(WORLD, Duration.ofSeconds(2));
        scraped.operationStarted(allReduce(WORLD, 8));
        scraped.operationCompleted(allReduce(WORLD, 8), millis(250));
        scraped.operationStarted(allReduce(WORLD, 8));
        scraped.operationFailed(allReduce(WORLD, 8), millis(5), lost());
        scraped.groupFailed(WORLD, lost());
        assertThat(prometheus.scrape())
                .contains(
                        "jccl_operation_seconds_sum{backend=\"gloo\",exception=\"none\",group=\"world\","
                                + "operation=\"allReduce\"} 0.25",
                        "jccl_operation_seconds_count{backend=\"gloo\",exception=\"PeerLostException\"",
                        "jccl_operation_bytes_sum{backend=\"gloo\",group=\"world\",operation=\"allReduce\"}"
                                + " 8.0",
                        "jccl_operation_outstanding{backend=\"gloo\",group=\"world\"} 0.0",
                        "jccl_group_open{backend=\"gloo\",group=\"world\"} 1.0",
                        "jccl_group_failed_total{backend=\"gloo\",exception=\"PeerLostException\"");
    }
}

package org.jccl.benchmarks;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import jdk.jfr.Recording;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.GroupListener;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.SyncCollectives;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.micrometer.JcclMetrics;
import org.jccl.store.HashStore;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** An allReduce of one float in a group of one rank: all that is left is what the host does. */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
public class HostCost {

    private static final Duration TIMEOUT = Duration.ofSeconds(30);

    /** The backend; those of devices run on one or on a mock. */
    @Param({"nccl", "hccl", "sccl", "gloo", "mpi"})
    public String backend;

    /**
     * Who watches: nobody, a listener that does nothing, Micrometer's simple registry, or JFR with
     * all its events. The monitor of {@code jccl top} does with {@code JCCL_MONITOR_DIR} set.
     */
    @Param("nobody")
    public String watched;

    private Optional<Recording> recording = Optional.empty();
    private Device device;
    private ProcessGroup group;
    private SyncCollectives sync;
    private Tensor tensor;

    /** Joins a world of one rank. */
    @Setup
    public void join() {
        device = deviceOf(backend);
        ProcessGroupBuilder world = ProcessGroup.builder();
        switch (watched) {
            case "nobody" -> {}
            case "listener" -> world.listener(new GroupListener() {});
            case "micrometer" -> world.listener(new JcclMetrics(new SimpleMeterRegistry()));
            case "jfr" -> {
                recording = Optional.of(new Recording());
                recording.get().start();
            }
            default -> throw new IllegalArgumentException("watched=" + watched);
        }
        group =
                world.backend(backend)
                        .store(HashStore.create(TIMEOUT))
                        .rank(0)
                        .worldSize(1)
                        .device(device)
                        .timeout(TIMEOUT)
                        .build();
        sync = group.sync();
        tensor = Tensor.allocate(device, DataType.FLOAT32, 1);
    }

    private static Device deviceOf(String backend) {
        return switch (backend) {
            case "nccl" -> new Device("cuda", 0);
            case "hccl" -> new Device("npu", 0);
            case "sccl" -> new Device("tpu", 0);
            default -> Device.CPU;
        };
    }

    /** Lets a device catch up, so that iterations do not pay for those before. */
    @TearDown(Level.Iteration)
    public void catchUp() {
        if (!device.isCpu()) {
            Stream.current(device).synchronize();
        }
    }

    /** Leaves the world. */
    @TearDown
    public void leave() {
        tensor.close();
        group.close();
        recording.ifPresent(Recording::close);
    }

    /**
     * Issues, and orders the caller after it: on a device its stream, else the thread.
     *
     * @return keeps the call from being optimised away
     */
    @Benchmark
    public Work async() {
        Work work = group.allReduce(tensor, ReduceOp.SUM);
        work.await();
        return work;
    }

    /** The form of the caller's own order. */
    @Benchmark
    public void sync() {
        sync.allReduce(tensor, ReduceOp.SUM);
    }
}

package org.jccl.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.nccl.CudaErrors.check;

import java.time.Duration;
import java.util.function.IntUnaryOperator;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.FloatPointer;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Test;

/** Streams, events and memory of JavaCPP's presets of CUDA, in and out. */
class PresetsTest {

    private static final int COUNT = 1000;

    private static final IntUnaryOperator DEVICES = NcclConformanceTest.ownDevices();

    private final Device gpu = new Device(NcclProvider.DEVICE_TYPE, DEVICES.applyAsInt(0));

    private static CUstream_st newStream() {
        CUstream_st made = new CUstream_st();
        check(cudart.cudaStreamCreateWithFlags(made, cudart.cudaStreamNonBlocking), "create");
        return made;
    }

    @Test
    void aStreamOfThePresetsIsTheCurrentOne() {
        Gpu.handle(Stream.current(gpu));
        CUstream_st theirs = newStream();
        try (Stream stream = Stream.ofPointer(gpu, theirs);
                Tensor tensor = Tensor.allocate(gpu, DataType.FLOAT32, COUNT)) {
            assertThat(stream.handle()).isEqualTo(theirs.address());
            assertThat(stream.pointer().address()).isEqualTo(theirs.address());
            try (Stream.Scope scope = stream.use()) {
                assertThat(Stream.current(gpu).handle()).isEqualTo(theirs.address());
                Gpu.fill(tensor, 3, stream);
                assertThat(tensor.copyTo(new float[COUNT])).containsOnly(3);
                assertThat(scope).isNotNull();
            }
        }
        check(cudart.cudaStreamDestroy(theirs), "destroy"); // closing the wrapper left it
    }

    @Test
    void nullIsTheDefaultStream() {
        try (Stream stream = Stream.ofPointer(gpu, null);
                Stream same = Stream.ofPointer(gpu, new CUstream_st())) {
            assertThat(stream.handle()).isZero();
            assertThat(same.handle()).isZero();
            assertThat(stream.pointer()).isNull();
        }
    }

    @Test
    void eventsAreTimedOnBothSides() {
        Gpu.handle(Stream.current(gpu));
        CUevent_st theirs = new CUevent_st();
        check(cudart.cudaEventCreate(theirs), "create");
        try (Stream stream = Stream.create(gpu, false);
                Event begin = Event.ofPointer(gpu, theirs);
                Event end = Event.create(gpu, true)) {
            check(cudart.cudaEventRecord(theirs, Gpu.handle(stream)), "record");
            begin.synchronize();
            assertThat(begin.query()).isTrue();
            end.record(stream);
            end.synchronize();
            assertThat(begin.elapsed(end)).isGreaterThanOrEqualTo(Duration.ZERO);
            float[] millis = new float[1];
            check(
                    cudart.cudaEventElapsedTime(millis, theirs, new CUevent_st(end.pointer())),
                    "elapsed");
            assertThat(millis[0]).isNotNegative();
            begin.record(stream);
            begin.synchronize();
        }
        check(cudart.cudaEventDestroy(theirs), "destroy");
    }

    @Test
    void aStreamWaitsForAnEventThatThePresetsRecorded() {
        Gpu.handle(Stream.current(gpu));
        CUevent_st theirs = new CUevent_st();
        check(cudart.cudaEventCreateWithFlags(theirs, cudart.cudaEventDisableTiming), "create");
        try (Stream first = Stream.create(gpu, false);
                Stream second = Stream.create(gpu, false);
                Event event = Event.ofPointer(gpu, theirs);
                Gpu.Gate gate = Gpu.Gate.on(first)) {
            check(cudart.cudaEventRecord(theirs, Gpu.handle(first)), "record");
            second.waitEvent(event);
            assertThat(second.query()).isFalse();
            gate.open();
            second.synchronize();
            assertThatThrownBy(() -> event.elapsed(event)).isInstanceOf(JcclException.class);
        }
        check(cudart.cudaEventDestroy(theirs), "destroy");
    }

    @Test
    void anEventIsNoNullPointer() {
        assertThatThrownBy(() -> Event.ofPointer(gpu, null))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("event is a null pointer");
    }

    @Test
    void memoryOfCudaMallocHasNoLimit() {
        Gpu.handle(Stream.current(gpu));
        FloatPointer memory = new FloatPointer();
        check(cudart.cudaMalloc(memory, COUNT * Float.BYTES), "malloc");
        try (Tensor tensor = Tensor.ofPointer(memory, COUNT, DataType.FLOAT32, gpu);
                Stream stream = Stream.create(gpu, false);
                Stream.Scope scope = stream.use()) {
            Gpu.fill(tensor, 7, stream);
            assertThat(tensor.copyTo(new float[COUNT])).containsOnly(7);
            assertThatThrownBy(() -> Tensor.ofPointer(memory, DataType.FLOAT32, gpu))
                    .hasMessageContaining("no limit")
                    .hasMessageContaining("Tensor.ofPointer(pointer, count");
            assertThat(scope).isNotNull();
        }
        check(cudart.cudaFree(memory), "free");
    }

    /**
     * A program waits for a collective on a stream of its own, and asks CUDA whether it is over.
     */
    @Test
    void theEndOfAWorkIsAnEvent() {
        NcclBackend backend = new NcclBackend(NcclOptions.defaults(), rank -> gpu.index());
        try (ProcessGroup group = backend.alone();
                Tensor tensor = Tensor.allocate(gpu, DataType.FLOAT32, 3);
                Stream stream = Stream.create(tensor.device(), false)) {
            for (int i = 0; i < 100; i++) {
                Work work = group.allReduce(tensor, ReduceOp.SUM);
                try (Event end = work.event().orElseThrow()) {
                    stream.waitEvent(end);
                    stream.synchronize();
                    assertThat(end.query()).isTrue();
                    CUevent_st theirs = new CUevent_st(end.pointer());
                    assertThat(cudart.cudaEventQuery(theirs)).isEqualTo(cudart.cudaSuccess);
                    assertThatThrownBy(() -> end.record(stream))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("the end of a work");
                }
                work.synchronize();
                try (Event past = work.event().orElseThrow()) {
                    assertThat(past.query()).isTrue();
                }
            }
        }
    }

    /** The group's pool is gone by then. */
    @Test
    void theEventOfAWorkMayBeClosedAfterTheGroup() {
        Event kept;
        try (Tensor tensor = Tensor.allocate(gpu, DataType.FLOAT32, 3)) {
            try (ProcessGroup group =
                    new NcclBackend(NcclOptions.defaults(), rank -> gpu.index()).alone()) {
                kept = group.allReduce(tensor, ReduceOp.SUM).event().orElseThrow();
            }
        }
        assertThat(kept.query()).isTrue();
        kept.close();
        assertThatThrownBy(kept::query).isInstanceOf(UsageException.class);
    }

    @Test
    void theEventOfAFailedWorkThrowsItsFailure() {
        NcclBackend backend = new NcclBackend(NcclOptions.defaults(), rank -> gpu.index());
        try (ProcessGroup group = backend.alone();
                Tensor tensor = Tensor.allocate(gpu, DataType.FLOAT32, 1);
                Stream stream = Stream.create(tensor.device(), false);
                Stream.Scope scope = stream.use();
                Gpu.Gate gate = Gpu.Gate.on(stream)) {
            Work work = group.allReduce(tensor, ReduceOp.SUM);
            try (Event end = work.event().orElseThrow()) {
                assertThat(end.query()).isFalse();
                group.abort();
                gate.open();
                assertThatThrownBy(end::synchronize)
                        .isInstanceOf(GroupAbortedException.class)
                        .hasMessageContaining("abort() was called");
                assertThatThrownBy(work::event).isInstanceOf(GroupAbortedException.class);
            }
            assertThat(scope).isNotNull();
        }
    }
}

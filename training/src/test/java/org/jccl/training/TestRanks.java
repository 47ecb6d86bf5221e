package org.jccl.training;

import static org.jccl.testing.Patience.enough;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.conformance.ConformanceBackend;
import org.jccl.gloo.GlooOptions;

/** Ranks as threads of this JVM, and their tensors. */
final class TestRanks {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

    private TestRanks() {}

    interface Body {
        void run(ProcessGroup group) throws Exception;
    }

    /** On the CPU. The first failure of a rank is what this throws. */
    static void onCpu(int size, Body body) {
        ConformanceBackend backend =
                (store, rank, ranks, timeout) ->
                        ProcessGroup.builder()
                                .backend("gloo")
                                .store(store)
                                .rank(rank)
                                .worldSize(ranks)
                                .timeout(timeout)
                                .options(GlooOptions.onHost("127.0.0.1"))
                                .build();
        run(backend, size, body);
    }

    /** On the mock of a device, whose streams delay each operation at random; a device a rank. */
    static void onDevices(int size, Body body) {
        ConformanceBackend backend =
                (store, rank, ranks, timeout) ->
                        ProcessGroup.builder()
                                .backend("nccl")
                                .store(store)
                                .rank(rank)
                                .worldSize(ranks)
                                .device(new Device("cuda", rank))
                                .timeout(timeout)
                                .build();
        run(backend, size, body);
    }

    private static void run(ConformanceBackend backend, int size, Body body) {
        backend.ranks().run(size, TIMEOUT, rank -> body.run(rank.group()));
    }

    static Tensor floats(float... values) {
        FloatMemory memory = new FloatMemory(values.length);
        return memory.tensor().copyFrom(values);
    }

    static Tensor filled(int count, float value) {
        float[] values = new float[count];
        Arrays.fill(values, value);
        return floats(values);
    }

    static float[] values(Tensor tensor) {
        return tensor.copyTo(new float[Math.toIntExact(tensor.count())]);
    }

    static Tensor tensor(Device device, float... values) {
        return Tensor.allocate(device, DataType.FLOAT32, values.length).copyFrom(values);
    }

    /** Memory that ends with the test. */
    private record FloatMemory(ByteBuffer bytes) {
        FloatMemory(int count) {
            this(ByteBuffer.allocateDirect(count * Float.BYTES).order(ByteOrder.nativeOrder()));
        }

        Tensor tensor() {
            return Tensor.of(bytes, DataType.FLOAT32);
        }
    }
}

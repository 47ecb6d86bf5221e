package org.jccl.benchmarks;

import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.cuda.global.nccl;
import org.bytedeco.cuda.nccl.ncclComm;
import org.bytedeco.cuda.nccl.ncclUniqueId;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Loader;
import org.jccl.nccl.NcclProvider;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The library's own part of {@link HostCost}: the same native calls and no more, by JavaCPP's
 * presets, which the binding does without.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
// NCCL forms a communicator with more stack than a thread of Java has by default.
@Fork(value = 2, jvmArgsAppend = "-Xss8m")
public class PresetsCost {

    private final ncclComm communicator = new ncclComm();
    private final CUstream_st own = new CUstream_st();
    private final CUstream_st callers = new CUstream_st();
    private final CUevent_st before = new CUevent_st();
    private final CUevent_st after = new CUevent_st();
    private FloatPointer memory;

    private static void check(int code) {
        if (code != 0) {
            throw new IllegalStateException("native call failed with code " + code);
        }
    }

    /** JavaCPP takes what it has loaded under a name, and else whatever it meets first. */
    private static void load(String name, String variable) {
        String file = System.getenv(variable);
        if (file != null) {
            try {
                URL[] address = {Path.of(file).toUri().toURL()};
                Loader.loadLibrary(Loader.class, address, name);
            } catch (MalformedURLException e) {
                throw new IllegalArgumentException(variable, e);
            }
        }
    }

    /** Makes a communicator of one rank; it ends with the process. */
    @Setup
    public void connect() {
        load("cuda@.1", "JCCL_NCCL_DRIVER");
        load("cudart@.13", "JCCL_NCCL_CUDART");
        load("nccl@.2", "JCCL_NCCL_LIBRARY");
        memory = new FloatPointer();
        check(cudart.cudaSetDevice(0));
        check(cudart.cudaMalloc(memory, Float.BYTES));
        check(cudart.cudaStreamCreateWithFlags(own, cudart.cudaStreamNonBlocking));
        check(cudart.cudaStreamCreateWithFlags(callers, cudart.cudaStreamNonBlocking));
        check(cudart.cudaEventCreateWithFlags(before, cudart.cudaEventDisableTiming));
        check(cudart.cudaEventCreateWithFlags(after, cudart.cudaEventDisableTiming));
        try (ncclUniqueId id = new ncclUniqueId()) {
            check(nccl.ncclGetUniqueId(id));
            check(nccl.ncclCommInitRank(communicator, 1, id, 0));
        }
        System.out.println("# " + new NcclProvider().availability());
    }

    /** Device, both events, both waits, reduction. */
    @Benchmark
    public void async() {
        check(cudart.cudaSetDevice(0));
        check(cudart.cudaEventRecord(before, callers));
        check(cudart.cudaStreamWaitEvent(own, before, 0));
        reduce(own);
        check(cudart.cudaEventRecord(after, own));
        check(cudart.cudaStreamWaitEvent(callers, after, 0));
    }

    /** Device, reduction. */
    @Benchmark
    public void sync() {
        check(cudart.cudaSetDevice(0));
        reduce(callers);
    }

    private void reduce(CUstream_st stream) {
        check(
                nccl.ncclAllReduce(
                        memory, memory, 1, nccl.ncclFloat32, nccl.ncclSum, communicator, stream));
    }
}

package org.jccl.examples.cuda;

import java.time.Duration;
import java.util.List;
import org.bytedeco.cuda.cublas.cublasContext;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cublas;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.FloatPointer;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.Work;

/**
 * Memory, streams and events are of JavaCPP's presets for CUDA; JCCL sums the gradients of all
 * ranks while the program computes on its own stream. With {@code --cublas}, it computes by cuBLAS.
 * Without it, copies on the device stand for kernels, which needs the CUDA runtime only.
 */
public final class CudaPresets {

    private static final int COUNT = 1 << 20;
    private static final long BYTES = COUNT * (long) Float.BYTES;
    private static final int ROUNDS = 20;

    private final ProcessGroup world;
    private final Device gpu;
    private final boolean useCublas;

    private CudaPresets(ProcessGroup world, Device gpu, boolean useCublas) {
        this.world = world;
        this.gpu = gpu;
        this.useCublas = useCublas;
    }

    /**
     * Runs one rank, whose number and size of the world come from the launcher.
     *
     * @param arguments {@code --cublas} or nothing
     */
    public static void main(String[] arguments) {
        boolean useCublas = List.of(arguments).contains("--cublas");
        Device gpu = new Device("cuda", Integer.parseInt(System.getenv("LOCAL_RANK")));
        try (ProcessGroup world = ProcessGroup.builder().backend("nccl").device(gpu).build()) {
            new CudaPresets(world, gpu, useCublas).run();
        }
    }

    @SuppressWarnings("try") // the scope is only closed
    private void run() {
        check(cudart.cudaSetDevice(gpu.index()), "cudaSetDevice");
        CUstream_st compute = newStream();
        CUstream_st watch = newStream();
        CUevent_st begin = newEvent();
        CUevent_st computed = newEvent();
        CUevent_st reduced = newEvent();
        FloatPointer gradients = onDevice();
        FloatPointer activations = onDevice();
        FloatPointer results = onDevice();
        float[] sums = new float[COUNT];
        try (Stream ours = Stream.ofPointer(gpu, compute);
                Stream watching = Stream.ofPointer(gpu, watch);
                Stream.Scope current = ours.use();
                Event start = Event.ofPointer(gpu, begin);
                Event finish = Event.create(gpu, true);
                Tensor tensor = Tensor.ofPointer(gradients, COUNT, DataType.FLOAT32, gpu)) {
            float[] own = new float[COUNT];
            for (int i = 0; i < COUNT; i++) {
                own[i] = (world.rank() + 1) * (i % 1000);
            }
            copyToDevice(gradients, own, compute);
            copyToDevice(activations, own, compute);
            world.allReduce(tensor, ReduceOp.SUM).await(); // connects the ranks
            copyToDevice(gradients, own, compute);
            ours.synchronize();
            world.barrier().synchronize();

            check(cudart.cudaEventRecord(begin, compute), "cudaEventRecord");
            Work work = world.allReduce(tensor, ReduceOp.SUM); // on a stream of JCCL's own
            try (Event end = work.event().orElseThrow()) {
                watching.waitEvent(end);
                check(cudart.cudaEventRecord(reduced, watch), "cudaEventRecord");
            }
            compute(activations, results, compute); // meanwhile
            check(cudart.cudaEventRecord(computed, compute), "cudaEventRecord");
            work.await(); // what follows on the stream waits for the sums
            finish.record(ours);
            copyToHost(sums, gradients, compute);
            watching.synchronize();
            ours.synchronize();
            report(millis(begin, computed), millis(begin, reduced), start.elapsed(finish));
        }
        float ranks = world.size() * (world.size() + 1) / 2f;
        for (int i = 0; i < COUNT; i++) {
            if (sums[i] != ranks * (i % 1000)) {
                throw new IllegalStateException(
                        "element " + i + " is " + sums[i] + ", not " + ranks * (i % 1000));
            }
        }
        System.out.println("rank " + world.rank() + ": all " + COUNT + " sums are right");
        free(gradients, activations, results);
        List.of(begin, computed, reduced)
                .forEach(event -> check(cudart.cudaEventDestroy(event), "cudaEventDestroy"));
        List.of(compute, watch)
                .forEach(stream -> check(cudart.cudaStreamDestroy(stream), "cudaStreamDestroy"));
    }

    private void report(float computed, float reduced, Duration both) {
        float all = both.toNanos() / 1e6f;
        System.out.printf(
                "rank %d: computed in %.3f ms, reduced in %.3f ms, both in %.3f ms: overlapped for"
                        + " %.3f ms%n",
                world.rank(), computed, reduced, all, Math.max(0, computed + reduced - all));
    }

    private void compute(FloatPointer from, FloatPointer to, CUstream_st stream) {
        if (!useCublas) {
            for (int i = 0; i < ROUNDS; i++) {
                check(
                        cudart.cudaMemcpyAsync(
                                to, from, BYTES, cudart.cudaMemcpyDeviceToDevice, stream),
                        "cudaMemcpyAsync");
            }
            return;
        }
        cublasContext context = new cublasContext();
        check(cublas.cublasCreate_v2(context), "cublasCreate");
        check(cublas.cublasSetStream_v2(context, stream), "cublasSetStream");
        try (FloatPointer factor = new FloatPointer(0.5f)) {
            for (int i = 0; i < ROUNDS; i++) {
                check(cublas.cublasSaxpy_v2(context, COUNT, factor, from, 1, to, 1), "cublasSaxpy");
            }
        }
        check(cublas.cublasDestroy_v2(context), "cublasDestroy");
    }

    private static FloatPointer onDevice() {
        FloatPointer memory = new FloatPointer();
        check(cudart.cudaMalloc(memory, BYTES), "cudaMalloc");
        return memory;
    }

    private static void free(FloatPointer... all) {
        for (FloatPointer each : all) {
            check(cudart.cudaFree(each), "cudaFree");
        }
    }

    private static CUstream_st newStream() {
        CUstream_st made = new CUstream_st();
        check(
                cudart.cudaStreamCreateWithFlags(made, cudart.cudaStreamNonBlocking),
                "cudaStreamCreateWithFlags");
        return made;
    }

    private static CUevent_st newEvent() {
        CUevent_st made = new CUevent_st();
        check(cudart.cudaEventCreate(made), "cudaEventCreate");
        return made;
    }

    private static void copyToDevice(FloatPointer to, float[] from, CUstream_st stream) {
        try (FloatPointer host = new FloatPointer(from)) {
            check(
                    cudart.cudaMemcpyAsync(to, host, BYTES, cudart.cudaMemcpyHostToDevice, stream),
                    "cudaMemcpyAsync");
            check(cudart.cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        }
    }

    private static void copyToHost(float[] to, FloatPointer from, CUstream_st stream) {
        try (FloatPointer host = new FloatPointer(COUNT)) {
            check(
                    cudart.cudaMemcpyAsync(
                            host, from, BYTES, cudart.cudaMemcpyDeviceToHost, stream),
                    "cudaMemcpyAsync");
            check(cudart.cudaStreamSynchronize(stream), "cudaStreamSynchronize");
            host.get(to);
        }
    }

    private static float millis(CUevent_st from, CUevent_st to) {
        float[] millis = new float[1];
        check(cudart.cudaEventElapsedTime(millis, from, to), "cudaEventElapsedTime");
        return millis[0];
    }

    private static void check(int code, String call) {
        if (code != 0) {
            throw new IllegalStateException(call + " returned " + code);
        }
    }
}

package org.jccl.mpi;

import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import org.bytedeco.cuda.cudart.CUgraph_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.cudart.dim3;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.testing.JavaCppLibraries;

/** One rank of a job on CUDA devices; the argument says what it does. */
final class CudaMain {

    private static final int COUNT = 10_000;
    private static final long BUSY_MICROS = 300_000;

    /** The presets are a user's own CUDA code here, on the libraries of the binding. */
    static {
        JavaCppLibraries.load("cuda@.1", "org.jccl.nccl.driver");
        JavaCppLibraries.load("cudart@.13", "org.jccl.nccl.cudart");
    }

    private CudaMain() {}

    public static void main(String[] arguments) {
        switch (arguments[0]) {
            case "streams" -> waitForStreams();
            case "refusals" -> refuse();
            case "both" -> useBothMemories();
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static ProcessGroup join(String backends) {
        return ProcessGroup.builder()
                .backend(backends)
                .timeout(enough(Duration.ofSeconds(60)))
                .build();
    }

    private static Device deviceOf(ProcessGroup group) {
        return new Device("cuda", group.rank());
    }

    private static void print(ProcessGroup group, String line) {
        System.out.println("rank " + group.rank() + ": " + line);
        System.out.flush();
    }

    private static float last(Tensor tensor) {
        return tensor.slice(COUNT - 1, 1).copyTo(new float[1])[0];
    }

    private static void check(int status) {
        if (status != 0) {
            throw new IllegalStateException("CUDA answered " + status);
        }
    }

    /** Enqueues writing one value to all elements, after a while, and does not wait for it. */
    private static void fill(Tensor tensor, float value, Stream stream) {
        try (LongPointer micros = new LongPointer(new long[] {BUSY_MICROS});
                LongPointer address = new LongPointer(new long[] {tensor.address()});
                FloatPointer scalar = new FloatPointer(value);
                LongPointer count = new LongPointer(new long[] {tensor.count()})) {
            launch("mockKernelBusy", stream, micros);
            launch("mockKernelFill", stream, address, scalar, count);
        }
    }

    private static void launch(String kernel, Stream stream, Pointer... arguments) {
        try (PointerPointer<Pointer> pointers = new PointerPointer<>(arguments);
                dim3 one = new dim3(1, 1, 1)) {
            check(
                    cudart.cudaLaunchKernel(
                            Loader.addressof(kernel),
                            one,
                            one,
                            pointers,
                            0,
                            new CUstream_st(stream.pointer())));
        }
    }

    /** Whoever does not wait for the kernels sends what the memory had before. */
    private static void waitForStreams() {
        try (ProcessGroup group = join("cuda:mpi");
                Stream stream = Stream.create(deviceOf(group), false);
                Tensor tensor = Tensor.allocate(deviceOf(group), DataType.FLOAT32, COUNT)) {
            stream.use();
            fill(tensor, group.rank() + 1, stream);
            group.allReduce(tensor, ReduceOp.SUM).await();
            String line = "asynchronous " + last(tensor);
            fill(tensor, 3, stream);
            group.sync().allReduce(tensor, ReduceOp.SUM);
            line += ", synchronous " + last(tensor);
            fill(tensor, group.rank() == 0 ? 9 : 0, stream);
            if (group.rank() == 0) {
                group.send(tensor, 1).await();
            } else {
                group.recv(tensor, 0).await();
            }
            print(group, line + ", message " + last(tensor));
        }
    }

    private static void refuse() {
        try (ProcessGroup group = join("cuda:mpi");
                Stream stream = Stream.create(deviceOf(group), false);
                Tensor tensor = Tensor.allocate(deviceOf(group), DataType.FLOAT32, COUNT);
                Tensor half = Tensor.allocate(deviceOf(group), DataType.BFLOAT16, COUNT)) {
            stream.use();
            expectRefusal(group, tensor, ReduceOp.AVG);
            expectRefusal(group, tensor, ReduceOp.premulSum(2));
            expectRefusal(group, tensor, ReduceOp.MAX);
            expectRefusal(group, half, ReduceOp.SUM);
            CUstream_st handle = new CUstream_st(stream.pointer());
            check(cudart.cudaStreamBeginCapture(handle, cudart.cudaStreamCaptureModeRelaxed));
            expectRefusal(group, tensor, ReduceOp.SUM);
            check(cudart.cudaStreamEndCapture(handle, new CUgraph_st()));
            fill(tensor, group.rank() + 1, stream);
            group.allReduce(tensor, ReduceOp.SUM).await();
            print(group, "the group goes on: " + last(tensor));
        }
    }

    private static void expectRefusal(ProcessGroup group, Tensor tensor, ReduceOp op) {
        try {
            group.allReduce(tensor, op);
            print(group, "WRONG: took " + op);
        } catch (JcclException e) {
            print(group, e.toString());
        }
    }

    private static void useBothMemories() {
        try (ProcessGroup group = join("cpu:mpi,cuda:mpi");
                Tensor far = Tensor.allocate(deviceOf(group), DataType.INT32, COUNT);
                Tensor near = Tensor.allocate(Device.CPU, DataType.INT32, COUNT)) {
            int[] mine = {group.rank() + 1};
            group.sync().allReduce(near.copyFrom(mine), ReduceOp.SUM);
            group.sync().allReduce(far.copyFrom(mine), ReduceOp.SUM);
            int sumNear = near.copyTo(new int[COUNT])[0];
            int sumFar = far.copyTo(new int[COUNT])[0];
            print(group, "cpu " + sumNear + ", cuda " + sumFar);
        }
    }
}

package org.jccl.nccl;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.cudart.cudaHostFn_t;
import org.bytedeco.cuda.cudart.dim3;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerPointer;
import org.jccl.Stream;
import org.jccl.Tensor;
import org.jccl.testing.JavaCppLibraries;

/** What a user's own CUDA code does beside collectives: kernels, and waiting on a stream. */
final class Gpu {

    /** The presets are a user's own CUDA code here, on the libraries of the binding. */
    static {
        NcclLibraries.get();
        JavaCppLibraries.load("cuda@.1", NcclLibrary.DRIVER.property);
        JavaCppLibraries.load("cudart@.13", NcclLibrary.RUNTIME_13.property);
    }

    private Gpu() {}

    /** The presets' type of a stream. */
    static CUstream_st handle(Stream stream) {
        return new CUstream_st(stream.pointer());
    }

    /** A stream that another library makes, by CUDA's defaults. */
    static long createForeignStream() {
        CUstream_st made = new CUstream_st();
        CudaErrors.check(cudart.cudaStreamCreate(made), "cudaStreamCreate");
        return made.address();
    }

    /** Enqueues writing one value to all elements. */
    static void fill(Tensor tensor, float value, Stream stream) {
        try (LongPointer address = longs(tensor.address());
                FloatPointer scalar = new FloatPointer(value);
                LongPointer count = longs(tensor.count())) {
            launch("mockKernelFill", stream, address, scalar, count);
        }
    }

    /** Enqueues y = y + a * x. */
    static void axpy(Tensor y, Tensor x, float a, Stream stream) {
        try (LongPointer to = longs(y.address());
                LongPointer from = longs(x.address());
                FloatPointer scalar = new FloatPointer(a);
                LongPointer count = longs(y.count())) {
            launch("mockKernelAxpy", stream, to, from, scalar, count);
        }
    }

    /** The constructor that takes one long takes it for a size. */
    private static LongPointer longs(long value) {
        return new LongPointer(new long[] {value});
    }

    private static void launch(String kernel, Stream stream, Pointer... arguments) {
        try (PointerPointer<Pointer> pointers = new PointerPointer<>(arguments);
                dim3 one = new dim3(1, 1, 1)) {
            CudaErrors.check(
                    cudart.cudaLaunchKernel(
                            Loader.addressof(kernel), one, one, pointers, 0, handle(stream)),
                    "cudaLaunchKernel");
        }
    }

    /** Holds a stream until it is opened. */
    static final class Gate implements AutoCloseable {

        private static final Map<Long, CountDownLatch> GATES = new ConcurrentHashMap<>();
        private static final AtomicLong LAST = new AtomicLong();
        // JavaCPP has ten callbacks a class and gives them back no earlier than a garbage
        // collection: all gates share one, and its argument tells them apart.
        private static final Callback CALLBACK = new Callback();

        private final CountDownLatch opened = new CountDownLatch(1);

        static Gate on(Stream stream) {
            Gate gate = new Gate();
            long id = LAST.incrementAndGet();
            GATES.put(id, gate.opened);
            CudaErrors.check(
                    cudart.cudaLaunchHostFunc(handle(stream), CALLBACK, new Argument(id)),
                    "cudaLaunchHostFunc");
            return gate;
        }

        void open() {
            opened.countDown();
        }

        @Override
        public void close() {
            open();
        }

        private static final class Callback extends cudaHostFn_t {
            @Override
            public void call(Pointer argument) {
                try {
                    GATES.remove(argument.address()).await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException("nobody interrupts a stream", e);
                }
            }
        }

        /** A number where C wants a void pointer. */
        private static final class Argument extends Pointer {
            Argument(long value) {
                address = value;
            }
        }
    }
}

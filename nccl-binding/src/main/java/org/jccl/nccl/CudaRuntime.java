package org.jccl.nccl;

import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.IntPointer;
import org.jccl.nccl.NativeHandles.Address;
import org.jccl.nccl.NativeHandles.EventHandle;
import org.jccl.nccl.NativeHandles.StreamHandle;
import org.jccl.spi.DeviceRuntime;

/** Streams, events and memory of CUDA devices, by the CUDA runtime. Safe for use by any thread. */
final class CudaRuntime implements DeviceRuntime {

    /** What a thread's calls pass their arguments in. */
    private static final class Scratch {
        final StreamHandle stream = new StreamHandle();
        final EventHandle event = new EventHandle();
        final Address to = new Address();
        final Address from = new Address();
        final IntPointer value = new IntPointer(1);
    }

    private final ThreadLocal<Scratch> scratch = ThreadLocal.withInitial(Scratch::new);
    private final int deviceCount;

    CudaRuntime(int deviceCount) {
        this.deviceCount = deviceCount;
    }

    @Override
    public int deviceCount() {
        return deviceCount;
    }

    @Override
    public void setDevice(int device) {
        enter(device);
    }

    /** Makes a device current on the calling thread. */
    static void enter(int device) {
        CudaErrors.check(cudart.cudaSetDevice(device), "cudaSetDevice");
    }

    @Override
    public long createStream(boolean highPriority) {
        StreamHandle stream = new StreamHandle();
        int priority = 0;
        if (highPriority) {
            int[] least = new int[1];
            int[] greatest = new int[1];
            CudaErrors.check(
                    cudart.cudaDeviceGetStreamPriorityRange(least, greatest),
                    "cudaDeviceGetStreamPriorityRange");
            priority = greatest[0];
        }
        CudaErrors.check(
                cudart.cudaStreamCreateWithPriority(stream, cudart.cudaStreamNonBlocking, priority),
                "cudaStreamCreateWithPriority");
        return stream.address();
    }

    @Override
    public void destroyStream(long stream) {
        CudaErrors.check(
                cudart.cudaStreamDestroy(scratch.get().stream.at(stream)), "cudaStreamDestroy");
    }

    @Override
    public boolean queryStream(long stream) {
        return isDone(cudart.cudaStreamQuery(scratch.get().stream.at(stream)), "cudaStreamQuery");
    }

    @Override
    public void synchronizeStream(long stream) {
        CudaErrors.check(
                cudart.cudaStreamSynchronize(scratch.get().stream.at(stream)),
                "cudaStreamSynchronize");
    }

    @Override
    public boolean isCapturing(long stream) {
        Scratch mine = scratch.get();
        CudaErrors.check(
                cudart.cudaStreamIsCapturing(mine.stream.at(stream), mine.value),
                "cudaStreamIsCapturing");
        return mine.value.get() != cudart.cudaStreamCaptureStatusNone;
    }

    @Override
    public boolean isOrderedWithDefault(long stream) {
        Scratch mine = scratch.get();
        CudaErrors.check(
                cudart.cudaStreamGetFlags(mine.stream.at(stream), mine.value),
                "cudaStreamGetFlags");
        return (mine.value.get() & cudart.cudaStreamNonBlocking) == 0;
    }

    @Override
    public long createEvent(boolean timing) {
        EventHandle event = new EventHandle();
        int flags = timing ? cudart.cudaEventDefault : cudart.cudaEventDisableTiming;
        CudaErrors.check(cudart.cudaEventCreateWithFlags(event, flags), "cudaEventCreateWithFlags");
        return event.address();
    }

    @Override
    public void destroyEvent(long event) {
        CudaErrors.check(
                cudart.cudaEventDestroy(scratch.get().event.at(event)), "cudaEventDestroy");
    }

    @Override
    public void recordEvent(long event, long stream) {
        Scratch mine = scratch.get();
        CudaErrors.check(
                cudart.cudaEventRecord(mine.event.at(event), mine.stream.at(stream)),
                "cudaEventRecord");
    }

    @Override
    public void waitEvent(long stream, long event) {
        Scratch mine = scratch.get();
        CudaErrors.check(
                cudart.cudaStreamWaitEvent(mine.stream.at(stream), mine.event.at(event), 0),
                "cudaStreamWaitEvent");
    }

    @Override
    public boolean queryEvent(long event) {
        return isDone(cudart.cudaEventQuery(scratch.get().event.at(event)), "cudaEventQuery");
    }

    @Override
    public void synchronizeEvent(long event) {
        CudaErrors.check(
                cudart.cudaEventSynchronize(scratch.get().event.at(event)), "cudaEventSynchronize");
    }

    @Override
    public double elapsedMillis(long start, long end) {
        float[] millis = new float[1];
        CudaErrors.check(
                cudart.cudaEventElapsedTime(
                        millis, scratch.get().event.at(start), new EventHandle().at(end)),
                "cudaEventElapsedTime");
        return millis[0];
    }

    /**
     * {@inheritDoc}
     *
     * @throws OutOfMemoryError when the device has no such memory left
     */
    @Override
    public long allocate(long bytes) {
        Address memory = new Address();
        int code = cudart.cudaMalloc(memory, bytes);
        if (code == cudart.cudaErrorMemoryAllocation) {
            cudart.cudaGetLastError();
            throw new OutOfMemoryError(
                    "cudaMalloc: the device has no " + bytes + " bytes of memory left");
        }
        CudaErrors.check(code, "cudaMalloc");
        return memory.address();
    }

    @Override
    public void free(long address) {
        CudaErrors.check(cudart.cudaFree(scratch.get().to.at(address)), "cudaFree");
    }

    @Override
    public boolean freeWaits() {
        return true;
    }

    /** {@inheritDoc} It serves all devices of the process. */
    @Override
    public long allocateHost(long bytes) {
        Address memory = new Address();
        int code = cudart.cudaHostAlloc(memory, bytes, cudart.cudaHostAllocPortable);
        if (code == cudart.cudaErrorMemoryAllocation) {
            cudart.cudaGetLastError();
            return 0;
        }
        CudaErrors.check(code, "cudaHostAlloc");
        return memory.address();
    }

    @Override
    public void freeHost(long address) {
        CudaErrors.check(cudart.cudaFreeHost(scratch.get().to.at(address)), "cudaFreeHost");
    }

    @Override
    public void copy(long to, long from, long bytes, Copy direction, long stream) {
        Scratch mine = scratch.get();
        int kind =
                switch (direction) {
                    case HOST_TO_DEVICE -> cudart.cudaMemcpyHostToDevice;
                    case DEVICE_TO_HOST -> cudart.cudaMemcpyDeviceToHost;
                    case DEVICE_TO_DEVICE -> cudart.cudaMemcpyDeviceToDevice;
                };
        CudaErrors.check(
                cudart.cudaMemcpyAsync(
                        mine.to.at(to), mine.from.at(from), bytes, kind, mine.stream.at(stream)),
                "cudaMemcpyAsync");
    }

    /**
     * {@inheritDoc}
     *
     * <p>Another thread's capture in global mode forbids this thread to ask for events, unless this
     * thread says that it minds its own captures only.
     */
    @Override
    public void preparePollingThread(int device) {
        setDevice(device);
        IntPointer mode = scratch.get().value;
        mode.put(cudart.cudaStreamCaptureModeThreadLocal);
        CudaErrors.check(
                cudart.cudaThreadExchangeStreamCaptureMode(mode),
                "cudaThreadExchangeStreamCaptureMode");
    }

    private static boolean isDone(int code, String call) {
        if (code == cudart.cudaErrorNotReady) {
            // Else another library in this thread meets it as the last error.
            cudart.cudaGetLastError();
            return false;
        }
        CudaErrors.check(code, call);
        return true;
    }
}

package org.jccl.nccl;

import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.Polling;

/** Streams, events and memory of CUDA devices, through the CUDA runtime. Thread-safe. */
final class CudaRuntime implements DeviceRuntime {

    /** Values of cudaMemcpyKind. */
    private static final int HOST_TO_DEVICE = 1;

    private static final int DEVICE_TO_HOST = 2;
    private static final int DEVICE_TO_DEVICE = 3;

    /** A short operation ends within these polls. */
    private static final int SPINS = 1000;

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
        CudaErrors.check(NcclNative.cudaSetDevice(device), "cudaSetDevice");
    }

    @Override
    public long createStream(boolean highPriority) {
        return CudaErrors.value(
                NcclNative.cudaStreamCreate(highPriority), "cudaStreamCreateWithPriority");
    }

    @Override
    public void destroyStream(long stream) {
        CudaErrors.check(NcclNative.cudaStreamDestroy(stream), "cudaStreamDestroy");
    }

    @Override
    public boolean queryStream(long stream) {
        return isDone(NcclNative.cudaStreamQuery(stream), "cudaStreamQuery");
    }

    @Override
    public void synchronizeStream(long stream) {
        CudaErrors.check(NcclNative.cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }

    /**
     * {@inheritDoc}
     *
     * <p>Polls, because cudaStreamSynchronize returns only when the stream is idle, which may never
     * happen after an abort.
     */
    @Override
    public boolean awaitStream(long stream, long millis) {
        return await(() -> queryStream(stream), millis);
    }

    @Override
    public boolean isCapturing(long stream) {
        return CudaErrors.value(NcclNative.cudaStreamIsCapturing(stream), "cudaStreamIsCapturing")
                != 0;
    }

    @Override
    public boolean isOrderedWithDefault(long stream) {
        return CudaErrors.value(NcclNative.cudaStreamWaitsForDefault(stream), "cudaStreamGetFlags")
                != 0;
    }

    @Override
    public long createEvent(boolean timing) {
        return CudaErrors.value(NcclNative.cudaEventCreate(timing), "cudaEventCreateWithFlags");
    }

    @Override
    public void destroyEvent(long event) {
        CudaErrors.check(NcclNative.cudaEventDestroy(event), "cudaEventDestroy");
    }

    @Override
    public void recordEvent(long event, long stream) {
        CudaErrors.check(NcclNative.cudaEventRecord(event, stream), "cudaEventRecord");
    }

    @Override
    public void waitEvent(long stream, long event) {
        CudaErrors.check(NcclNative.cudaStreamWaitEvent(stream, event), "cudaStreamWaitEvent");
    }

    @Override
    public boolean queryEvent(long event) {
        return isDone(NcclNative.cudaEventQuery(event), "cudaEventQuery");
    }

    @Override
    public void synchronizeEvent(long event) {
        CudaErrors.check(NcclNative.cudaEventSynchronize(event), "cudaEventSynchronize");
    }

    @Override
    public boolean awaitEvent(long event, long millis) {
        return await(() -> queryEvent(event), millis);
    }

    private static boolean await(BooleanSupplier isDone, long millis) {
        long begun = System.nanoTime();
        for (long polls = 0; !isDone.getAsBoolean(); polls++) {
            if (System.nanoTime() - begun > TimeUnit.MILLISECONDS.toNanos(millis)) {
                return false;
            }
            Polling.pause(polls, SPINS);
        }
        return true;
    }

    @Override
    public double elapsedMillis(long start, long end) {
        float[] millis = new float[1];
        CudaErrors.check(NcclNative.cudaEventElapsed(millis, start, end), "cudaEventElapsedTime");
        return millis[0];
    }

    /**
     * {@inheritDoc}
     *
     * @throws OutOfMemoryError if the device does not have enough memory
     */
    @Override
    public long allocate(long bytes) {
        long memory = NcclNative.cudaMalloc(bytes);
        if (CudaErrors.isOutOfMemory(memory)) {
            NcclNative.cudaGetLastError();
            throw new OutOfMemoryError(
                    "cudaMalloc: the device has no " + bytes + " bytes of memory left");
        }
        return CudaErrors.value(memory, "cudaMalloc");
    }

    @Override
    public void free(long address) {
        CudaErrors.check(NcclNative.cudaFree(address), "cudaFree");
    }

    @Override
    public boolean freeWaits() {
        return true;
    }

    /** {@inheritDoc} It serves all devices of the process. */
    @Override
    public long allocateHost(long bytes) {
        long memory = NcclNative.cudaHostAlloc(bytes);
        if (CudaErrors.isOutOfMemory(memory)) {
            NcclNative.cudaGetLastError();
            return 0;
        }
        return CudaErrors.value(memory, "cudaHostAlloc");
    }

    @Override
    public void freeHost(long address) {
        CudaErrors.check(NcclNative.cudaFreeHost(address), "cudaFreeHost");
    }

    @Override
    public void copy(long to, long from, long bytes, Copy direction, long stream) {
        int kind =
                switch (direction) {
                    case HOST_TO_DEVICE -> HOST_TO_DEVICE;
                    case DEVICE_TO_HOST -> DEVICE_TO_HOST;
                    case DEVICE_TO_DEVICE -> DEVICE_TO_DEVICE;
                };
        CudaErrors.check(
                NcclNative.cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
    }

    /**
     * {@inheritDoc}
     *
     * <p>While another thread captures in global mode, this thread may query events only if its
     * capture mode ignores captures of other threads.
     */
    @Override
    public void preparePollingThread(int device) {
        setDevice(device);
        CudaErrors.check(
                NcclNative.cudaIgnoreCapturesOfOtherThreads(),
                "cudaThreadExchangeStreamCaptureMode");
    }

    private static boolean isDone(int code, String call) {
        if (code == CudaErrors.NOT_READY) {
            // Otherwise another library in this thread would get it as the last error.
            NcclNative.cudaGetLastError();
            return false;
        }
        CudaErrors.check(code, call);
        return true;
    }
}

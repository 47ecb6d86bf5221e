package com.example.threads;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;
import org.jccl.spi.DeviceRuntime;

/**
 * Devices that consist of threads: a stream is a chain of tasks, an event is a future, and the
 * memory is that of the host. Safe for use by any thread.
 */
final class QueuesRuntime implements DeviceRuntime {

    /** A device costs nothing until it is used. */
    private static final int DEVICES = 10_000;

    private static final long DEFAULT_STREAM = 0;
    private static final CompletableFuture<Void> IDLE = CompletableFuture.completedFuture(null);

    private static final Executor THREADS =
            Executors.newCachedThreadPool(
                    task -> {
                        Thread thread = new Thread(task, "queue");
                        thread.setDaemon(true);
                        return thread;
                    });

    private final ThreadLocal<Integer> currentDevice = ThreadLocal.withInitial(() -> 0);

    /** For each stream the end of its chain. A device's default stream is created by its use. */
    private final Map<Long, CompletableFuture<Void>> ends = new ConcurrentHashMap<>();

    /** For each event the time at which the stream passed it. */
    private final Map<Long, CompletableFuture<Long>> events = new ConcurrentHashMap<>();

    private final Map<Long, Tensor> memory = new ConcurrentHashMap<>();
    private final AtomicLong lastHandle = new AtomicLong(DEFAULT_STREAM);

    /** Runs a task after everything that is on a stream; returns when it is enqueued. */
    CompletableFuture<Void> enqueue(long stream, Runnable task) {
        return ends.compute(
                key(stream), (key, end) -> (end == null ? IDLE : end).thenRunAsync(task, THREADS));
    }

    private CompletableFuture<Void> end(long stream) {
        return ends.getOrDefault(key(stream), IDLE);
    }

    private long key(long stream) {
        return stream == DEFAULT_STREAM ? -1L - currentDevice.get() : stream;
    }

    @Override
    public int deviceCount() {
        return DEVICES;
    }

    @Override
    public void setDevice(int device) {
        currentDevice.set(device);
    }

    @Override
    public long createStream(boolean highPriority) {
        return lastHandle.incrementAndGet();
    }

    @Override
    public void destroyStream(long stream) {
        end(stream).join();
        ends.remove(stream);
    }

    /** It must, since {@link #free} does not wait. */
    @Override
    public boolean destroyStreamWaits() {
        return true;
    }

    @Override
    public boolean queryStream(long stream) {
        return end(stream).isDone();
    }

    @Override
    public void synchronizeStream(long stream) {
        end(stream).join();
    }

    @Override
    public long createEvent(boolean timing) {
        long handle = lastHandle.incrementAndGet();
        events.put(handle, CompletableFuture.completedFuture(0L));
        return handle;
    }

    @Override
    public void destroyEvent(long event) {
        events.remove(event);
    }

    @Override
    public void recordEvent(long event, long stream) {
        events.put(event, enqueue(stream, () -> {}).thenApply(passed -> System.nanoTime()));
    }

    /** The wait is for the future of now: recording the event again makes another one. */
    @Override
    public void waitEvent(long stream, long event) {
        enqueue(stream, events.get(event)::join);
    }

    @Override
    public boolean queryEvent(long event) {
        return events.get(event).isDone();
    }

    @Override
    public void synchronizeEvent(long event) {
        events.get(event).join();
    }

    @Override
    public double elapsedMillis(long start, long end) {
        return (events.get(end).join() - events.get(start).join()) / 1e6;
    }

    @Override
    public long allocate(long bytes) {
        Tensor allocated = Tensor.allocate(Device.CPU, DataType.INT8, bytes);
        memory.put(allocated.address(), allocated);
        return allocated.address();
    }

    @Override
    public void free(long address) {
        memory.remove(address).close();
    }

    @Override
    public void copy(long to, long from, long bytes, Copy direction, long stream) {
        enqueue(stream, () -> bytesAt(to, bytes).copyFrom(bytesAt(from, bytes)));
    }

    private static Tensor bytesAt(long address, long bytes) {
        return Tensor.of(address, bytes, DataType.INT8, Device.CPU, null);
    }
}

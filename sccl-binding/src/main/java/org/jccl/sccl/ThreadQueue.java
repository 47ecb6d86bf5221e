package org.jccl.sccl;

import java.util.ArrayDeque;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.spi.DeviceRuntime;

/**
 * A thread in place of a stream, where there are no kernels to tie a handle to a stream with: a
 * handle that the library makes runs on a stream nobody else knows, so everything is waited for on
 * this thread, in order. A thread that does not come back from the library is left behind.
 */
final class ThreadQueue extends TpuQueue {

    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private long last;
    private volatile long passed;
    private volatile Failure failure;

    /** Up to where the thread was told of failures. */
    private final ThreadLocal<Long> told = ThreadLocal.withInitial(() -> 0L);

    /** What the task at a place has failed with. */
    private record Failure(JcclException cause, long place) {}

    /** Made on the thread, by the first task that asks. */
    private long handle;

    ThreadQueue(int device) {
        super(device);
        Thread thread = new Thread(this::run, "jccl-tpu-" + device);
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        JcclException unusable = null;
        try {
            TpuRuntime.enter(device);
        } catch (JcclException e) {
            unusable = e;
        }
        while (true) {
            Runnable task = next();
            try {
                if (unusable != null) {
                    throw unusable;
                }
                task.run();
            } catch (JcclException e) {
                failure = new Failure(e, passed + 1);
            } catch (RuntimeException | Error e) {
                failure =
                        new Failure(
                                new NativeException(
                                        FailureContext.NONE, "libtpurt", 0, "failed: " + e),
                                passed + 1);
            }
            passed++;
        }
    }

    private synchronized Runnable next() {
        while (tasks.isEmpty()) {
            try {
                wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException("nobody interrupts this thread", e);
            }
        }
        return tasks.poll();
    }

    /** Has the thread do something; returns its place. */
    synchronized long submit(Runnable task) {
        tasks.add(task);
        notifyAll();
        return ++last;
    }

    /** Nothing to do: all calls are made by the thread. */
    @Override
    void begin() {}

    @Override
    void end() {}

    /** On the thread only. */
    @Override
    long handle() {
        if (handle == 0) {
            handle = Sccl.scclCreateHandle(device);
            if (handle == 0) {
                throw new NativeException(
                        FailureContext.NONE, "libsccl", 0, "scclCreateHandle gave nothing");
            }
        }
        return handle;
    }

    /** On the thread only: returns when it is done. */
    @Override
    void push() {
        TpuErrors.checkDnn(TpudnnSync.tpudnnSync(handle()), "tpudnnSync");
    }

    @Override
    synchronized long mark() {
        return last;
    }

    @Override
    boolean reached(long mark) {
        return passed >= mark;
    }

    @Override
    void copy(long to, long from, long bytes, DeviceRuntime.Copy direction) {
        submit(() -> copyNow(to, from, bytes, direction));
    }

    /** On the thread only. */
    @Override
    void copyBetweenCalls(long to, long from, long bytes) {
        copyNow(to, from, bytes, DeviceRuntime.Copy.DEVICE_TO_DEVICE);
    }

    private static void copyNow(long to, long from, long bytes, DeviceRuntime.Copy direction) {
        int code =
                switch (direction) {
                    case HOST_TO_DEVICE -> Tpurt.tpuMemcpyH2D(to, from, bytes);
                    case DEVICE_TO_HOST -> Tpurt.tpuMemcpyD2H(to, from, bytes);
                    case DEVICE_TO_DEVICE -> Tpurt.tpuMemcpyD2D(to, from, bytes);
                };
        TpuErrors.checkRuntime(code, "tpuMemcpy, " + direction);
    }

    /**
     * Every thread that waits gets it, once: which of them has enqueued what failed is not known.
     * The newest stands for those before it, so who waits for the newest later gets it again.
     */
    @Override
    void throwFailure(long mark) {
        Failure newest = failure;
        if (newest != null && newest.place > told.get()) {
            told.set(Math.min(newest.place, mark));
            throw newest.cause;
        }
    }

    @Override
    void stamp(TpuEvent event) {
        submit(() -> event.stamp = System.nanoTime());
    }

    @Override
    double elapsedMillis(TpuEvent start, TpuEvent end) {
        return (end.stamp - start.stamp) / 1e6;
    }

    @Override
    void dropStamp(TpuEvent event) {
        event.stamp = 0;
    }
}

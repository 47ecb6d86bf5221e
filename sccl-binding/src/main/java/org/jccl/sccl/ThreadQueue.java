package org.jccl.sccl;

import java.util.ArrayDeque;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.NativeException;
import org.jccl.spi.DeviceRuntime;

/**
 * A thread that takes the place of a stream if there are no kernels to make a handle from a stream.
 * The library then makes a handle with a hidden stream, so this thread runs every task in order and
 * waits for each one to end. A thread that does not return from the library is left running.
 */
final class ThreadQueue extends TpuQueue {

    private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
    private long last;
    private volatile long passed;
    private volatile Failure failure;

    /** The position up to which failures were reported to the thread. */
    private final ThreadLocal<Long> reported = ThreadLocal.withInitial(() -> 0L);

    /** The failure of the task at a position. */
    private record Failure(JcclException cause, long at) {}

    /** Made on the thread by the first task that needs it. */
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
                throw new IllegalStateException("no code interrupts this thread", e);
            }
        }
        return tasks.poll();
    }

    /** Adds a task and returns its position. */
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
    synchronized long position() {
        return last;
    }

    @Override
    boolean reached(long position) {
        return passed >= position;
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
     * {@inheritDoc}
     *
     * <p>Each waiting thread gets the failure once, because it is not known which of them enqueued
     * the task. Only the newest failure is retained. A thread that got it for an earlier position
     * gets it again when it waits for the position of the newest.
     */
    @Override
    void throwFailure(long position) {
        Failure newest = failure;
        if (newest != null && newest.at > reported.get()) {
            reported.set(Math.min(newest.at, position));
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

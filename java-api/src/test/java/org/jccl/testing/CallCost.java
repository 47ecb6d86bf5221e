package org.jccl.testing;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/**
 * What a call costs the host, as averages. Garbage hardly depends on how busy the machine is, so
 * tests may be about it; time does.
 *
 * @param cpuNanos processor time of the calling thread
 * @param bytes garbage of the calling thread
 */
public record CallCost(double cpuNanos, double bytes) {

    /**
     * A call that makes something each time makes no less than this. One in a hundred may: where it
     * has to wait for a lock, which happens on a busy machine, the waiting allocates.
     */
    public static final int SMALLEST_OBJECT = 16;

    private static final int CALLS = 2000;
    private static final int WARM_UP = 4;
    private static final ThreadMXBean THREAD = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static CallCost of(Runnable call, int calls) {
        long self = Thread.currentThread().getId();
        long bytes = THREAD.getThreadAllocatedBytes(self);
        long nanos = THREAD.getCurrentThreadCpuTime();
        for (int i = 0; i < calls; i++) {
            call.run();
        }
        nanos = THREAD.getCurrentThreadCpuTime() - nanos;
        bytes = THREAD.getThreadAllocatedBytes(self) - bytes;
        return new CallCost((double) nanos / calls, (double) bytes / calls);
    }

    /**
     * Measures many calls without warming up.
     *
     * @param call is called on this thread
     * @return the averages
     */
    public static CallCost of(Runnable call) {
        return of(call, 4 * CALLS);
    }

    /**
     * Measures garbage after some calls, which fill pools.
     *
     * @param call is called on this thread
     * @return bytes a call
     */
    public static double settledBytes(Runnable call) {
        for (int i = 0; i < WARM_UP; i++) {
            of(call, CALLS / WARM_UP);
        }
        return of(call, CALLS).bytes();
    }
}

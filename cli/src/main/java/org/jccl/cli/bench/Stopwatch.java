package org.jccl.cli.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.OptionalInt;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;

/**
 * Times calls that all ranks make together. The wall time of each call is taken on its own, on the
 * calling thread; all ranks make the same number of calls.
 */
final class Stopwatch implements AutoCloseable {

    /** The fewest calls from which a percentile is taken when the time decides. */
    static final int FEWEST = 7;

    /** The most calls: their times are kept until the end, and a median needs no more. */
    static final int MOST = 1_000_000;

    private static final int FIRST_CALLS = 5;

    private final ProcessGroup group;
    private final OptionalInt iterations;
    private final OptionalInt warmUp;
    private final double budgetSeconds;
    private final Tensor agreed = Tensor.allocate(Device.CPU, DataType.FLOAT64, 1);
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /**
     * Plans measurements.
     *
     * @param iterations calls to time; empty for as many as the budget allows
     * @param warmUp calls before those; empty for a tenth of the budget, at least five
     */
    Stopwatch(
            ProcessGroup group, OptionalInt iterations, OptionalInt warmUp, double budgetSeconds) {
        this.group = group;
        this.iterations = iterations;
        this.warmUp = warmUp;
        this.budgetSeconds = budgetSeconds;
    }

    /**
     * What the calls took.
     *
     * @param iterations number of timed calls
     * @param medianMicros median of their wall times
     * @param p99Micros 99th percentile
     * @param allocatedBytes Java heap that the calling thread allocated in one call
     */
    record Timing(int iterations, double medianMicros, double p99Micros, double allocatedBytes) {

        /** Sorts the times, in nanoseconds. */
        static Timing of(long[] nanos, long allocated) {
            Arrays.sort(nanos);
            int count = nanos.length;
            int last = Math.min(count - 1, (int) (count * 0.99));
            return new Timing(
                    count, nanos[count / 2] / 1e3, nanos[last] / 1e3, (double) allocated / count);
        }
    }

    Timing time(Runnable call) {
        double seconds = warmUp(call);
        int count = iterations.orElseGet(() -> callsIn(budgetSeconds, seconds));
        long[] nanos = new long[count];
        group.sync().barrier();
        long allocatedBefore = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < count; i++) {
            long start = System.nanoTime();
            call.run();
            nanos[i] = System.nanoTime() - start;
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - allocatedBefore;
        return Timing.of(nanos, allocated);
    }

    /** Returns the seconds of one call, the same on all ranks. */
    private double warmUp(Runnable call) {
        double seconds =
                longest(secondsOf(call, Math.min(FIRST_CALLS, warmUp.orElse(FIRST_CALLS))));
        int count = warmUp.orElseGet(() -> callsIn(budgetSeconds / 10, seconds)) - FIRST_CALLS;
        return count > 0 ? longest(secondsOf(call, count)) : seconds;
    }

    /** Mean of the calls; the very first one, which may connect, is left out. */
    private static double secondsOf(Runnable call, int count) {
        call.run();
        long start = System.nanoTime();
        for (int i = 1; i < count; i++) {
            call.run();
        }
        return (System.nanoTime() - start) / 1e9 / Math.max(1, count - 1);
    }

    private static int callsIn(double budget, double seconds) {
        return (int) Math.max(FEWEST, Math.min(MOST, budget / Math.max(seconds, 1e-8)));
    }

    private double longest(double seconds) {
        return agree(seconds, ReduceOp.MAX);
    }

    /** Combines a number of every rank. */
    double agree(double value, ReduceOp op) {
        agreed.copyFrom(new double[] {value});
        group.sync().allReduce(agreed, op);
        return agreed.copyTo(new double[1])[0];
    }

    @Override
    public void close() {
        agreed.close();
    }
}

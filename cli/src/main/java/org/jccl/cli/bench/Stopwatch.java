package org.jccl.cli.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.DoubleBuffer;
import java.util.Arrays;
import java.util.OptionalInt;
import java.util.function.DoubleBinaryOperator;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Stream;
import org.jccl.Tensor;

/**
 * Times calls that all ranks make together. On the CPU, the wall time of each call is taken on the
 * calling thread. On a device, several calls are enqueued and awaited together, and each gets an
 * equal part of their time. All ranks make the same number of calls.
 */
final class Stopwatch implements AutoCloseable {

    /** The fewest calls for a percentile if the time budget decides. */
    static final int FEWEST = 7;

    /** The most calls: their times are retained until the end, and a median needs no more. */
    static final int MOST = 1_000_000;

    private static final int FIRST_CALLS = 5;

    /** Calls that are enqueued on a device before the host waits for it. */
    private static final int ENQUEUED = 20;

    private final ProcessGroup group;
    private final OptionalInt iterations;
    private final OptionalInt warmUp;
    private final double budgetSeconds;
    private final int enqueued;
    private final Runnable finish;
    private final Tensor given;
    private final Tensor gathered;
    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /**
     * Plans measurements.
     *
     * @param device where the calls' tensors are
     * @param iterations calls to time; empty for as many as the budget allows
     * @param warmUp calls before those; empty for a tenth of the budget, at least five
     */
    Stopwatch(
            ProcessGroup group,
            Device device,
            OptionalInt iterations,
            OptionalInt warmUp,
            double budgetSeconds) {
        this.group = group;
        this.enqueued = device.isCpu() ? 1 : ENQUEUED;
        this.finish = device.isCpu() ? () -> {} : () -> Stream.current(device).synchronize();
        // Bytes, since not every library reduces numbers of 64 bits.
        this.given = Tensor.allocate(device, DataType.INT8, Double.BYTES);
        this.gathered = Tensor.allocate(device, DataType.INT8, (long) Double.BYTES * group.size());
        this.iterations = iterations;
        this.warmUp = warmUp;
        this.budgetSeconds = budgetSeconds;
    }

    /**
     * What the calls took.
     *
     * @param iterations number of timed calls
     * @param medianMicros median of their wall times, or of the shares of those enqueued together
     * @param p99Micros 99th percentile
     * @param allocatedBytes Java heap that the calling thread allocated in one call
     */
    record Timing(int iterations, double medianMicros, double p99Micros, double allocatedBytes) {

        /**
         * Sorts the times, in nanoseconds.
         *
         * @param calls that each of the times is for
         * @param allocated bytes in all
         */
        static Timing of(long[] nanos, int calls, long allocated) {
            Arrays.sort(nanos);
            int count = nanos.length;
            int last = Math.min(count - 1, (int) (count * 0.99));
            return new Timing(
                    count * calls,
                    nanos[count / 2] / 1e3 / calls,
                    nanos[last] / 1e3 / calls,
                    (double) allocated / count / calls);
        }
    }

    Timing time(Runnable call) {
        double seconds = warmUp(call);
        int count = iterations.orElseGet(() -> callsIn(budgetSeconds, seconds));
        long[] nanos = new long[Math.max(1, count / enqueued)];
        group.sync().barrier();
        long allocatedBefore = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < nanos.length; i++) {
            long start = System.nanoTime();
            for (int each = 0; each < enqueued; each++) {
                call.run();
            }
            finish.run();
            nanos[i] = System.nanoTime() - start;
        }
        long allocated = threads.getCurrentThreadAllocatedBytes() - allocatedBefore;
        return Timing.of(nanos, enqueued, allocated);
    }

    /** Returns the seconds of one call, the same on all ranks. */
    private double warmUp(Runnable call) {
        double seconds =
                longest(secondsOf(call, Math.min(FIRST_CALLS, warmUp.orElse(FIRST_CALLS))));
        int count = warmUp.orElseGet(() -> callsIn(budgetSeconds / 10, seconds)) - FIRST_CALLS;
        return count > 0 ? longest(secondsOf(call, count)) : seconds;
    }

    /** Mean of the calls; the very first one, which may connect, is left out. */
    private double secondsOf(Runnable call, int count) {
        call.run();
        finish.run();
        long start = System.nanoTime();
        for (int i = 1; i < count; i++) {
            call.run();
        }
        finish.run();
        return (System.nanoTime() - start) / 1e9 / Math.max(1, count - 1);
    }

    private static int callsIn(double budget, double seconds) {
        return (int) Math.max(FEWEST, Math.min(MOST, budget / Math.max(seconds, 1e-8)));
    }

    private double longest(double seconds) {
        return agree(seconds, Math::max);
    }

    /** Combines a number of every rank. */
    double agree(double value, DoubleBinaryOperator combine) {
        given.copyFrom(ByteBuffer.allocate(Double.BYTES).putDouble(value).array());
        group.sync().allGatherSingle(gathered, given);
        byte[] bytes = gathered.copyTo(new byte[Double.BYTES * group.size()]);
        DoubleBuffer values = ByteBuffer.wrap(bytes).asDoubleBuffer();
        double combined = values.get(0);
        for (int rank = 1; rank < group.size(); rank++) {
            combined = combine.applyAsDouble(combined, values.get(rank));
        }
        return combined;
    }

    @Override
    public void close() {
        given.close();
        gathered.close();
    }
}

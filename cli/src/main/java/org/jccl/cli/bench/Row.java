package org.jccl.cli.bench;

import java.util.Map;
import java.util.Optional;
import org.jccl.DataType;
import org.jccl.cli.bench.Collective.Placement;
import org.jccl.cli.bench.Stopwatch.Timing;

/**
 * The measurement of one operation at one size.
 *
 * @param collective the operation
 * @param type element type; empty without data
 * @param op name of the reduction; empty where there is none
 * @param bytes the size, see {@link Collective#bytes}
 * @param count elements given to the call
 * @param root root rank, or -1
 * @param results for each form that the operation has
 */
record Row(
        Collective collective,
        Optional<DataType> type,
        Optional<String> op,
        int ranks,
        long bytes,
        long count,
        int root,
        Map<Placement, Result> results) {

    /**
     * One form's result.
     *
     * @param timing wall times of the calls on rank 0
     * @param wrong wrong elements on all ranks
     */
    record Result(Timing timing, long wrong) {}

    /** Bytes over the median time, in GB/s. */
    double algorithmBandwidth(Result result) {
        return bytes / (result.timing().medianMicros() * 1e3);
    }

    /** The bandwidth of each link, in GB/s. */
    double busBandwidth(Result result) {
        return algorithmBandwidth(result) * collective.busFactor(ranks);
    }

    long wrong() {
        return results.values().stream().mapToLong(Result::wrong).sum();
    }
}

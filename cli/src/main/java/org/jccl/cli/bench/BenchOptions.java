package org.jccl.cli.bench;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.LongStream;
import org.jccl.DataType;
import org.jccl.FailureContext;
import org.jccl.ReduceOp;
import org.jccl.UsageException;

/**
 * The operations to measure, and where to write the results.
 *
 * @param collectives operations, in this order
 * @param backend name of the backend, or empty for the best one
 * @param type element type
 * @param op reduction, for the operations that reduce
 * @param minBytes first size
 * @param maxBytes last size at most
 * @param factor from one size to the next, at least 2
 * @param mode how the operations are called
 * @param iterations timed calls; empty to let the budget decide
 * @param warmUp calls before them; empty for a tenth of the budget
 * @param budgetSeconds time for one row
 * @param csv file for comma-separated values
 * @param json file for JSON
 * @param svg file for the plot
 */
record BenchOptions(
        List<Collective> collectives,
        Optional<String> backend,
        DataType type,
        ReduceOp op,
        long minBytes,
        long maxBytes,
        int factor,
        Mode mode,
        OptionalInt iterations,
        OptionalInt warmUp,
        double budgetSeconds,
        Optional<Path> csv,
        Optional<Path> json,
        Optional<Path> svg) {

    /**
     * The operations that a group of this size can do.
     *
     * @throws UsageException if it can do none of the given operations
     */
    List<Collective> collectives(int ranks) {
        List<Collective> possible =
                collectives.stream()
                        .filter(value -> value != Collective.SENDRECV || ranks > 1)
                        .toList();
        if (possible.isEmpty()) {
            throw new UsageException(
                    FailureContext.NONE, "sendrecv needs a second rank; start at least two");
        }
        return possible;
    }

    /** How many rows there will be, or 0 when a group of this size can do none of them. */
    int sizes(int ranks) {
        return collectives.stream()
                .filter(value -> value != Collective.SENDRECV || ranks > 1)
                .mapToInt(value -> (int) counts(value, ranks).count())
                .sum();
    }

    /** Elements of the calls for an operation, each number once. */
    LongStream counts(Collective collective, int ranks) {
        if (!collective.hasData()) {
            return LongStream.of(0);
        }
        return LongStream.iterate(minBytes, size -> size <= maxBytes, size -> size * factor)
                .map(size -> collective.count(size, type, ranks))
                .distinct();
    }
}

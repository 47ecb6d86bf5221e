package org.jccl.spark;

import java.io.Serializable;
import java.util.Iterator;

/**
 * The function of each rank of a barrier stage on its partition of the data. Spark serialises it
 * with everything that it captures.
 *
 * @param <T> an element of the data
 * @param <R> the result for the driver, also serialisable
 */
@FunctionalInterface
public interface PartitionFunction<T, R> extends Serializable {

    /**
     * Runs in the executor, on the task's thread.
     *
     * @param rank this rank, which ends with the task
     * @param rows the partition that has the rank's number; can be read once, during the call, on
     *     this thread
     * @return the result, or null
     * @throws Exception if the rank fails, and with it the stage's attempt
     */
    R run(SparkRank rank, Iterator<T> rows) throws Exception;
}

package org.jccl.spark;

import java.io.Serializable;
import java.util.Iterator;

/**
 * What each rank of a barrier stage does with its partition of the data. Spark serialises it with
 * all that it captures.
 *
 * @param <T> an element of the data
 * @param <R> what it returns to the driver, serialisable too
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
     * @throws Exception when the rank fails, and with it the stage's attempt
     */
    R run(SparkRank rank, Iterator<T> rows) throws Exception;
}

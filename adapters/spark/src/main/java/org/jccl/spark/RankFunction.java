package org.jccl.spark;

import java.io.Serializable;

/**
 * What each rank of a barrier stage does. Spark serialises it with all that it captures.
 *
 * @param <R> what it returns to the driver, serialisable too
 */
@FunctionalInterface
public interface RankFunction<R> extends Serializable {

    /**
     * Runs in the executor, on the task's thread.
     *
     * @param rank this rank, which ends with the task
     * @return the result, or null
     * @throws Exception when the rank fails, and with it the stage's attempt
     */
    R run(SparkRank rank) throws Exception;
}

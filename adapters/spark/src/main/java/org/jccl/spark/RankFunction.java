package org.jccl.spark;

import java.io.Serializable;

/**
 * The function of each rank of a barrier stage. Spark serialises it with everything that it
 * captures.
 *
 * @param <R> the result for the driver, also serialisable
 */
@FunctionalInterface
public interface RankFunction<R> extends Serializable {

    /**
     * Runs in the executor, on the task's thread.
     *
     * @param rank this rank, which ends with the task
     * @return the result, or null
     * @throws Exception if the rank fails, and with it the stage's attempt
     */
    R run(SparkRank rank) throws Exception;
}

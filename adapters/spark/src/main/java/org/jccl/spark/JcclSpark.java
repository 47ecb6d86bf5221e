package org.jccl.spark;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import scala.Tuple2;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;

/**
 * Runs the tasks of a barrier stage as the ranks of one world. Spark starts either all of them or
 * none, so there must be as many free slots as ranks. The number of a rank is that of its
 * partition.
 *
 * <p>If a rank fails, all ranks fail, and Spark starts the whole stage again, up to {@code
 * spark.stage.maxConsecutiveAttempts} times. Every attempt is a new world with a store of its own.
 * So side effects of a rank, such as writing a file, may happen twice; {@link SparkRank#attempt}
 * distinguishes the attempts. Cancelling a job ends its ranks.
 *
 * <p>This class has no state. It is safe for use by several threads, and several stages may run at
 * a time.
 */
public final class JcclSpark {

    private JcclSpark() {}

    /**
     * Runs a function on a number of ranks.
     *
     * @param <R> what a rank returns
     * @param spark the session
     * @param ranks the number, at least 1; the cluster must have as many free slots
     * @param function what each rank does
     * @return what the ranks returned, in their order
     * @throws UsageException if an argument is null, or the number less than 1
     */
    public static <R> List<R> run(SparkSession spark, int ranks, RankFunction<R> function) {
        return run(given(spark, "the session").sparkContext(), ranks, function);
    }

    /**
     * Runs a function on a number of ranks. A job that fails throws Spark's {@code SparkException},
     * although it does not declare it. The message is that of the rank that failed first.
     *
     * @param <R> what a rank returns
     * @param spark the context; of a {@code JavaSparkContext} it is {@code sc()}
     * @param ranks the number, at least 1; the cluster must have as many free slots
     * @param function what each rank does
     * @return what the ranks returned, in their order
     * @throws UsageException if an argument is null, or the number less than 1
     */
    public static <R> List<R> run(SparkContext spark, int ranks, RankFunction<R> function) {
        given(spark, "the context");
        given(function, "the function");
        if (ranks < 1) {
            throw new UsageException(
                    FailureContext.NONE, "there must be at least 1 rank, got " + ranks);
        }
        JavaRDD<Integer> numbers =
                JavaSparkContext.fromSparkContext(spark)
                        .parallelize(IntStream.range(0, ranks).boxed().toList(), ranks);
        return run(numbers, (rank, number) -> function.run(rank));
    }

    /**
     * Runs a function on one rank for each partition of a data set or data frame.
     *
     * @param <T> a row
     * @param <R> what a rank returns
     * @param data with one partition for each rank, as {@code repartition} makes them. Spark
     *     rejects data that it cannot compute in the same stage, for instance a union; repartition
     *     it first
     * @param function what each rank does with its partition
     * @return what the ranks returned, in their order
     * @throws UsageException if an argument is null
     */
    public static <T, R> List<R> run(Dataset<T> data, PartitionFunction<T, R> function) {
        return run(given(data, "the data").javaRDD(), function);
    }

    /**
     * Runs a function on one rank for each partition of an RDD. A job that fails throws Spark's
     * {@code SparkException}, although it does not declare it. The message is that of the rank that
     * failed first.
     *
     * @param <T> an element
     * @param <R> what a rank returns
     * @param data with one partition for each rank. Spark rejects data that it cannot compute in
     *     the same stage, for instance a union; repartition it first
     * @param function what each rank does with its partition
     * @return what the ranks returned, in their order
     * @throws UsageException if an argument is null
     */
    public static <T, R> List<R> run(JavaRDD<T> data, PartitionFunction<T, R> function) {
        given(data, "the data");
        given(function, "the function");
        ClassTag<Tuple2<Integer, byte[]>> pairs = ClassTag$.MODULE$.apply(Tuple2.class);
        RDD<Tuple2<Integer, byte[]>> ofRanks =
                data.rdd().barrier().mapPartitions(new RankTask<>(function), false, pairs);
        // Spark does not restart a barrier stage whose results the driver collects directly.
        List<Tuple2<Integer, byte[]>> results =
                JavaRDD.fromRDD(ofRanks, pairs).repartition(1).collect();
        return inOrder(results);
    }

    private static <R> List<R> inOrder(List<Tuple2<Integer, byte[]>> results) {
        SerializerInstance serializer = SparkEnv.get().closureSerializer().newInstance();
        ClassLoader loader = Thread.currentThread().getContextClassLoader();
        ClassTag<R> any = ClassTag$.MODULE$.apply(Object.class);
        @SuppressWarnings("unchecked")
        R[] byRank = (R[]) new Object[results.size()];
        for (Tuple2<Integer, byte[]> result : results) {
            byRank[result._1()] = serializer.deserialize(ByteBuffer.wrap(result._2()), loader, any);
        }
        return Collections.unmodifiableList(Arrays.asList(byRank));
    }

    /**
     * Makes the calling task of a barrier stage a rank. Every task of the stage must call it
     * equally often, and in the same order as other calls that wait for all tasks. The rank ends
     * with the task; there is nothing to close.
     *
     * @param context of the calling task, from {@code BarrierTaskContext.get()}
     * @return the rank
     * @throws UsageException if the context is null
     * @throws org.jccl.StoreException if rank 0 cannot be reached, or not every task arrives within
     *     a minute
     */
    public static SparkRank join(BarrierTaskContext context) {
        return SparkRank.join(given(context, "the context"));
    }

    private static <T> T given(T value, String what) {
        if (value == null) {
            throw new UsageException(FailureContext.NONE, what + " must not be null");
        }
        return value;
    }
}

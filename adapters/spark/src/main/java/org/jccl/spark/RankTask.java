package org.jccl.spark;

import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Iterator;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.SparkEnv;
import scala.Tuple2;
import scala.collection.Iterator$;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/**
 * The function that Spark calls in each task. It only uses the part of Scala that 2.12 and 2.13
 * share.
 *
 * @param <T> an element of the partition
 * @param <R> what the rank returns
 */
final class RankTask<T, R>
        extends AbstractFunction1<
                scala.collection.Iterator<T>, scala.collection.Iterator<Tuple2<Integer, byte[]>>>
        implements Serializable {

    private static final long serialVersionUID = 1L;

    private final PartitionFunction<T, R> function;

    RankTask(PartitionFunction<T, R> function) {
        this.function = function;
    }

    @Override
    public scala.collection.Iterator<Tuple2<Integer, byte[]>> apply(
            scala.collection.Iterator<T> rows) {
        SparkRank rank = SparkRank.join(BarrierTaskContext.get());
        try {
            byte[] result = bytes(function.run(rank, iterator(rows)));
            return Iterator$.MODULE$.single(new Tuple2<>(rank.rank(), result));
        } catch (Throwable e) {
            throw RankTask.<RuntimeException>unchecked(rank.explained(e));
        }
    }

    /** As Spark itself serialises what tasks return, so that its class loaders are right. */
    private static byte[] bytes(Object result) {
        ByteBuffer buffer =
                SparkEnv.get()
                        .closureSerializer()
                        .newInstance()
                        .serialize(result, ClassTag$.MODULE$.apply(Object.class));
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    private static <T> Iterator<T> iterator(scala.collection.Iterator<T> rows) {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return rows.hasNext();
            }

            @Override
            public T next() {
                return rows.next();
            }
        };
    }

    /** Scala has no checked exceptions, and Spark takes any. */
    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable any) throws E {
        throw (E) any;
    }
}

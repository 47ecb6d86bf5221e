package org.jccl.examples.spark;

import static org.apache.spark.sql.types.DataTypes.FloatType;
import static org.apache.spark.sql.types.DataTypes.IntegerType;
import static org.apache.spark.sql.types.DataTypes.createArrayType;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.jccl.examples.Digits;
import org.jccl.examples.spark.Softmax.Image;
import org.jccl.spark.JcclSpark;
import org.jccl.spark.SparkRank;

/**
 * Trains on handwritten digits that are a data frame, with a rank for each of its partitions.
 * {@link DigitsOnRanks} is the same training under {@code jccl run}; both print the same checksum.
 */
public final class DigitsOnSpark {

    private DigitsOnSpark() {}

    /**
     * The driver; start it with {@code spark-submit}.
     *
     * @param args the number of ranks, 2 by default, and of epochs, 20 by default
     * @throws IOException if Spark cannot be stopped
     */
    public static void main(String[] args) throws IOException {
        int ranks = args.length > 0 ? Integer.parseInt(args[0]) : 2;
        int epochs = args.length > 1 ? Integer.parseInt(args[1]) : 20;
        try (SparkSession spark = SparkSession.builder().appName("digits").getOrCreate()) {
            Dataset<Row> digits = digits(spark, ranks);
            List<String> results = JcclSpark.run(digits, (rank, rows) -> train(rank, rows, epochs));
            for (int rank = 0; rank < ranks; rank++) {
                System.out.println("rank " + rank + ": " + results.get(rank));
            }
        }
    }

    /** Runs on an executor. */
    private static String train(SparkRank rank, Iterator<Row> rows, int epochs) {
        List<Image> images = new ArrayList<>();
        rows.forEachRemaining(row -> images.add(image(row)));
        Softmax model = Softmax.train(rank.init("gloo"), images, epochs);
        return String.format(
                Locale.ROOT,
                "weights %s, test accuracy %.1f %%, attempt %d",
                model.checksum(),
                100 * model.accuracy(Digits.load().test()),
                rank.attempt());
    }

    private static Image image(Row row) {
        List<Float> values = row.getList(0);
        float[] pixels = new float[values.size()];
        for (int i = 0; i < pixels.length; i++) {
            pixels[i] = values.get(i);
        }
        return new Image(pixels, row.getInt(1));
    }

    private static Dataset<Row> digits(SparkSession spark, int partitions) {
        Digits train = Digits.load().train();
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < train.size(); i++) {
            rows.add(RowFactory.create(train.images()[i], train.labels()[i]));
        }
        StructType schema =
                new StructType()
                        .add("pixels", createArrayType(FloatType, false), false)
                        .add("label", IntegerType, false);
        JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
        return spark.createDataFrame(context.parallelize(rows, partitions), schema);
    }
}

package org.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ranks in executors that are processes of their own. */
class JcclSparkTest {

    @TempDir static Path directory;
    private static SparkSession spark;

    @BeforeAll
    static void start() throws IOException {
        spark = TestCluster.start(directory);
    }

    @AfterAll
    static void stop() {
        if (spark != null) {
            spark.stop();
        }
    }

    /** The lambdas of this class are deserialised in the executors, which have no JUnit. */
    private static final class Ranks {

        private Ranks() {}

        static float sum(ProcessGroup world, float value) {
            try (Tensor tensor = Tensor.copyOf(new float[] {value})) {
                world.sync().allReduce(tensor, ReduceOp.SUM);
                return tensor.copyTo(new float[1])[0];
            }
        }

        static void note(String directory, String name, Object value) throws IOException {
            Files.writeString(Path.of(directory, name), String.valueOf(value));
        }

        static RankFunction<String> place() {
            return rank -> {
                float sum = sum(rank.init("gloo"), rank.rank() + 1);
                return rank.rank()
                        + "/"
                        + rank.size()
                        + " "
                        + sum
                        + " "
                        + rank.device("cuda").orElseThrow()
                        + " "
                        + ProcessHandle.current().pid();
            };
        }
    }

    @Test
    void ranksOfSeparateProcessesMakeAWorld() throws IOException {
        List<String> places = JcclSpark.run(spark, 2, Ranks.place());
        List<String[]> words = places.stream().map(place -> place.split(" ")).toList();
        assertThat(places).hasSize(2);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(words.get(rank)[0]).isEqualTo(rank + "/2");
            assertThat(words.get(rank)[1]).isEqualTo("3.0");
            assertThat(words.get(rank)[2]).isEqualTo("cuda:" + TestCluster.GPU);
        }
        String driver = Long.toString(ProcessHandle.current().pid());
        assertThat(List.of(words.get(0)[3], words.get(1)[3], driver)).doesNotHaveDuplicates();
        try (Stream<Path> unpacked = Files.walk(directory.resolve(".cache"))) {
            assertThat(unpacked.map(Path::toString)).anyMatch(name -> name.endsWith(".so"));
        }
    }
}

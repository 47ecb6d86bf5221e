package org.jccl.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.NEVER;
import static org.jccl.testing.Patience.enough;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.BarrierTaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.io.TempDir;
import scala.collection.Iterator;
import scala.collection.Iterator$;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction1;

/** Ranks in executors that are processes of their own. */
@DisabledForJreRange(
        min = JRE.JAVA_24,
        disabledReason = "Spark 4.0 needs what Java 24 no longer has")
class JcclSparkTest {

    @TempDir static Path directory;
    private static SparkSession spark;

    /** What the ranks of a test tell it, as files. */
    @TempDir Path notes;

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

    /** Whatever was done to the ranks, none is left that would keep the slots. */
    private static void requireBothExecutorsFree() {
        assertThat(JcclSpark.run(spark, 2, rank -> sum(rank.init("gloo"), 1)))
                .containsExactly(2f, 2f);
    }

    private static float sum(ProcessGroup world, float value) {
        try (Tensor tensor = Tensor.copyOf(new float[] {value})) {
            world.sync().allReduce(tensor, ReduceOp.SUM);
            return tensor.copyTo(new float[1])[0];
        }
    }

    private static void note(String directory, String name, Object value) {
        try {
            Path draft = Files.writeString(Path.of(directory, name + ".tmp"), "" + value);
            Files.move(draft, Path.of(directory, name));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private String noted(String name) throws IOException {
        return Files.readString(notes.resolve(name));
    }

    private static String pid() {
        return Long.toString(ProcessHandle.current().pid());
    }

    @Test
    void ranksAreProcessesWithDevicesAndUnpackTheirOwnLibraries() throws IOException {
        List<List<String>> places =
                JcclSpark.run(
                        spark,
                        2,
                        rank ->
                                new ArrayList<>(
                                        List.of(
                                                rank.toString(),
                                                "sum " + sum(rank.init("gloo"), rank.rank() + 1),
                                                rank.device("cuda").orElseThrow().toString(),
                                                rank.device("npu").toString(),
                                                pid())));
        assertThat(places).hasSize(2);
        for (int rank = 0; rank < 2; rank++) {
            assertThat(places.get(rank).get(0))
                    .startsWith("rank " + rank + " of 2, stage ")
                    .endsWith(" attempt 0");
            assertThat(places.get(rank).subList(1, 4))
                    .containsExactly("sum 3.0", "cuda:" + TestCluster.GPU, "Optional.empty");
        }
        assertThat(List.of(places.get(0).get(4), places.get(1).get(4), pid()))
                .doesNotHaveDuplicates();
        try (Stream<Path> unpacked = Files.walk(directory.resolve(".cache"))) {
            assertThat(unpacked.map(Path::toString)).anyMatch(name -> name.endsWith(".so"));
        }
    }

    @Test
    void eachRankReadsItsPartition() {
        PartitionFunction<Long, List<Float>> sums =
                (rank, rows) -> {
                    float mine = 0;
                    while (rows.hasNext()) {
                        mine += rows.next();
                    }
                    return new ArrayList<>(List.of(mine, sum(rank.init("gloo"), mine)));
                };
        List<Float> ofFirst = List.of(0f + 1 + 2 + 3 + 4, 45f);
        List<Float> ofSecond = List.of(5f + 6 + 7 + 8 + 9, 45f);
        assertThat(JcclSpark.run(spark.range(0, 10, 1, 2), sums))
                .containsExactly(ofFirst, ofSecond);
        assertThat(JcclSpark.run(spark.range(0, 10, 1, 2).javaRDD(), sums))
                .containsExactly(ofFirst, ofSecond);
    }

    @Test
    void nothingIsAResultToo() {
        assertThat(JcclSpark.run(spark, 2, rank -> null)).containsExactly(null, null);
    }

    @Test
    void twoWorldsCanFollowEachOther() {
        assertThat(
                        JcclSpark.run(
                                spark,
                                2,
                                rank -> {
                                    float first;
                                    try (ProcessGroup world = rank.init("GLOO")) {
                                        first = sum(world, 1);
                                    }
                                    Duration timeout = enough(Duration.ofSeconds(30));
                                    return sum(
                                            rank.init("gloo", options -> options.timeout(timeout)),
                                            first);
                                }))
                .containsExactly(4f, 4f);
    }

    /** The other rank waits in an operation meanwhile. */
    private void aFailureOf(int failing) throws Exception {
        String folder = notes.toString();
        assertThatThrownBy(
                        () ->
                                JcclSpark.run(
                                        spark,
                                        2,
                                        rank -> {
                                            ProcessGroup world = rank.init("gloo");
                                            sum(world, 1);
                                            String name = rank.attempt() + "-" + rank.rank();
                                            if (rank.rank() == failing) {
                                                throw new IllegalStateException("a bug of mine");
                                            }
                                            rank.context()
                                                    .addTaskFailureListener(
                                                            (org.apache.spark.util
                                                                            .TaskFailureListener)
                                                                    (task, e) ->
                                                                            note(folder, name, e));
                                            return sum(world, 1);
                                        }))
                .isInstanceOf(org.apache.spark.SparkException.class)
                .hasMessageContaining("java.lang.IllegalStateException: a bug of mine")
                .hasMessageNotContaining("PeerLost")
                .hasMessageNotContaining("GroupAborted");
        for (int attempt = 0; attempt < 2; attempt++) {
            String other = attempt + "-" + (1 - failing);
            awaitNotes(other);
            assertThat(noted(other))
                    .contains("GroupAbortedException")
                    .contains("rank " + failing + " on 127.0.0.1:")
                    .contains("failed first: java.lang.IllegalStateException: a bug of mine");
        }
        assertThat(notes.resolve("2-" + failing)).doesNotExist();
        requireBothExecutorsFree();
    }

    @Test
    void aFailureOfRank0FailsBothAndIsTheJobs() throws Exception {
        aFailureOf(0);
    }

    @Test
    void aFailureOfRank1FailsBothAndIsTheJobs() throws Exception {
        aFailureOf(1);
    }

    /**
     * In the middle of ten steps an executor is gone without a word; the next attempt makes all.
     */
    private void killed(int victim) throws IOException {
        String folder = notes.toString();
        List<List<String>> results =
                JcclSpark.run(
                        spark,
                        2,
                        rank -> {
                            ProcessGroup world = rank.init("gloo");
                            float total = 0;
                            for (int step = 0; step < 10; step++) {
                                if (step == 5 && rank.attempt() == 0 && rank.rank() == victim) {
                                    note(folder, "killed", pid());
                                    new ProcessBuilder("kill", "-9", pid()).start().waitFor();
                                }
                                total += sum(world, step + rank.rank());
                            }
                            return new ArrayList<>(List.of("" + total, "" + rank.attempt(), pid()));
                        });
        for (List<String> result : results) {
            assertThat(result.subList(0, 2)).containsExactly("100.0", "1");
            assertThat(result.get(2)).isNotEqualTo(noted("killed"));
        }
        requireBothExecutorsFree();
    }

    @Test
    void theStageIsStartedAgainWhenTheExecutorOfRank1IsKilled() throws IOException {
        killed(1);
    }

    /** Which serves the store. */
    @Test
    void theStageIsStartedAgainWhenTheExecutorOfRank0IsKilled() throws IOException {
        killed(0);
    }

    /** One rank waits in the library, the other one in the store. */
    @Test
    void aCancelledJobEndsItsRanks() throws Exception {
        String folder = notes.toString();
        CompletableFuture<?> job =
                CompletableFuture.runAsync(
                        () -> {
                            spark.sparkContext().setJobGroup("endless", "waits for ever", false);
                            JcclSpark.run(
                                    spark,
                                    2,
                                    rank -> {
                                        ProcessGroup world = rank.init("gloo");
                                        sum(world, 1);
                                        note(folder, "in-" + rank.rank(), pid());
                                        try {
                                            if (rank.rank() == 0) {
                                                return sum(world, 1);
                                            }
                                            rank.store().await(List.of("no such key"), NEVER);
                                            return 0f;
                                        } catch (RuntimeException e) {
                                            note(folder, "out-" + rank.rank(), e);
                                            throw e;
                                        }
                                    });
                        });
        awaitNotes("in-0", "in-1");
        spark.sparkContext().cancelJobGroup("endless");
        assertThatThrownBy(() -> job.get(120, TimeUnit.SECONDS)).hasMessageContaining("cancelled");
        awaitNotes("out-0", "out-1");
        assertThat(noted("out-0")).contains("GroupAbortedException");
        assertThat(noted("out-1")).contains("is closed");
        requireBothExecutorsFree();
    }

    private void awaitNotes(String... names) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(90);
        while (!Stream.of(names).allMatch(name -> Files.exists(notes.resolve(name)))) {
            assertThat(System.nanoTime()).as("waited for %s", List.of(names)).isLessThan(end);
            Thread.sleep(20);
        }
    }

    /** A task of a barrier stage that the program makes by itself. */
    private static final class OwnTask
            extends AbstractFunction1<Iterator<Integer>, Iterator<String>>
            implements java.io.Serializable {

        private static final long serialVersionUID = 1L;

        @Override
        public Iterator<String> apply(Iterator<Integer> numbers) {
            BarrierTaskContext context = BarrierTaskContext.get();
            context.barrier();
            SparkRank rank = JcclSpark.join(context);
            float sum = sum(rank.init("gloo"), numbers.next());
            context.barrier();
            return Iterator$.MODULE$.single(rank.rank() + ": " + sum);
        }
    }

    @Test
    void aStageOfTheProgramsOwnCanJoin() {
        ClassTag<String> text = ClassTag$.MODULE$.apply(String.class);
        RDD<String> sums =
                JavaSparkContext.fromSparkContext(spark.sparkContext())
                        .parallelize(List.of(20, 22), 2)
                        .rdd()
                        .barrier()
                        .mapPartitions(new OwnTask(), false, text);
        assertThat(JavaRDD.fromRDD(sums, text).collect()).containsExactly("0: 42.0", "1: 42.0");
    }

    @Test
    void aResultThatCanNotTravelIsNamed() {
        assertThatThrownBy(() -> JcclSpark.run(spark, 2, rank -> new Object()))
                .hasMessageContaining("not serializable result: java.lang.Object");
    }

    @Test
    void aGroupThatIsStillOpenIsClosedAndWhatWasIssuedIsDone() {
        List<Float> received =
                JcclSpark.run(
                        spark,
                        2,
                        rank -> {
                            ProcessGroup world = rank.init("gloo");
                            Tensor tensor = Tensor.copyOf(new float[] {rank.rank()});
                            if (rank.rank() == 0) {
                                world.broadcast(tensor, 1); // nobody awaits it
                                return 0f;
                            }
                            world.broadcast(tensor, 1).await();
                            return tensor.copyTo(new float[1])[0];
                        });
        assertThat(received).containsExactly(0f, 1f);
    }

    @Test
    void wrongArgumentsAreToldBeforeAnythingRuns() {
        RankFunction<Integer> none = null;
        PartitionFunction<Long, Integer> nothing = null;
        for (int ranks : IntStream.of(0, -1, Integer.MIN_VALUE).toArray()) {
            assertThatThrownBy(() -> JcclSpark.run(spark, ranks, rank -> 0))
                    .isInstanceOf(UsageException.class)
                    .hasMessageContaining("at least 1 rank, got " + ranks);
        }
        assertThatThrownBy(() -> JcclSpark.run(spark, 1, none)).isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> JcclSpark.run((SparkSession) null, 1, rank -> 0))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("the session");
        assertThatThrownBy(() -> JcclSpark.run(spark.range(1), nothing))
                .isInstanceOf(UsageException.class);
        assertThatThrownBy(() -> JcclSpark.run((JavaRDD<Long>) null, (rank, rows) -> 0))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining("the data");
        assertThatThrownBy(() -> JcclSpark.join(null)).isInstanceOf(UsageException.class);
    }

    @Test
    void wrongArgumentsOfARankAreToldToo() {
        List<String> told =
                JcclSpark.run(
                        spark,
                        1,
                        rank -> {
                            List<Runnable> calls =
                                    List.of(
                                            () -> rank.init(null),
                                            () -> rank.init("gloo", null),
                                            () -> rank.init("no such"),
                                            () -> rank.device(null),
                                            () -> rank.device("GPU"));
                            List<String> thrown = new ArrayList<>();
                            for (Runnable call : calls) {
                                try {
                                    call.run();
                                } catch (RuntimeException e) {
                                    thrown.add(e.getClass().getSimpleName());
                                }
                            }
                            return String.join(" ", thrown);
                        });
        assertThat(told)
                .containsExactly(
                        "UsageException UsageException BackendUnavailableException UsageException"
                                + " UsageException");
    }
}

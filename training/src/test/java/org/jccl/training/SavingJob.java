package org.jccl.training;

import static org.jccl.testing.Patience.enough;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jccl.ProcessGroup;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.gloo.GlooOptions;
import org.jccl.store.HashStore;

/** A job of two ranks that saves a checkpoint for each line that it reads. */
final class SavingJob {

    static final String SAVED = "saved";
    static final String READY = "ready";

    private static final int RANKS = 2;
    private static final Duration LIMIT = enough(Duration.ofMinutes(20));
    private static final int COUNT = 20_000;

    private SavingJob() {}

    /**
     * Prints one line for each save: {@link #SAVED}, or the message of each rank.
     *
     * @param args the directory, and the number of this job
     */
    public static void main(String[] args) {
        Path directory = Path.of(args[0]);
        int job = Integer.parseInt(args[1]);
        BufferedReader input =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String[] results = new String[RANKS];
        int[] step = new int[1];
        ranks(
                group -> {
                    print(group, READY);
                    while (true) {
                        if (group.rank() == 0) {
                            step[0] = read(input);
                        }
                        group.sync().barrier();
                        if (step[0] < 0) {
                            return;
                        }
                        results[group.rank()] = save(group, directory, job, step[0]);
                        group.sync().barrier();
                        print(group, results[0] + "\t" + results[1]);
                    }
                });
    }

    /** Runs the ranks as threads; the test's deadline is the only one. */
    static void ranks(TestRanks.Body body) {
        try (Store store = HashStore.create(LIMIT)) {
            List<CompletableFuture<Void>> ranks = new ArrayList<>();
            for (int i = 0; i < RANKS; i++) {
                int rank = i;
                ranks.add(
                        CompletableFuture.runAsync(
                                () -> run(store, rank, body), task -> new Thread(task).start()));
            }
            ranks.forEach(CompletableFuture::join);
        }
    }

    private static void run(Store store, int rank, TestRanks.Body body) {
        try (ProcessGroup group =
                ProcessGroup.builder()
                        .backend("gloo")
                        .store(store)
                        .rank(rank)
                        .worldSize(RANKS)
                        .timeout(LIMIT)
                        .options(GlooOptions.onHost("127.0.0.1"))
                        .build()) {
            body.run(group);
        } catch (Exception e) {
            throw new CompletionException(e);
        }
    }

    private static void print(ProcessGroup group, String line) {
        if (group.rank() == 0) {
            System.out.println(line);
        }
    }

    /** Negative at the end of the input. */
    private static int read(BufferedReader input) throws IOException {
        String line = input.readLine();
        return line == null ? -1 : Integer.parseInt(line);
    }

    /** Returns {@link #SAVED}, or the message of the exception. */
    static String save(ProcessGroup group, Path directory, int job, int step) {
        int rank = group.rank();
        int size = group.size();
        try (Tensor part = TestRanks.filled(COUNT, value(job, step));
                Tensor all = TestRanks.filled(COUNT, value(job, step))) {
            Checkpoint.save(
                    group,
                    directory,
                    List.of(
                            Shard.part("parts", (long) COUNT * rank, part, (long) COUNT * size),
                            Shard.replicated("all", all, COUNT)),
                    Map.of("job", Integer.toString(job), "step", Integer.toString(step)));
            return SAVED;
        } catch (CheckpointException e) {
            return e.getMessage().replaceAll("\\s", " ");
        }
    }

    /** Opens the checkpoint, and returns the job that saved it: every element must be its. */
    static int jobOf(Path directory, int step) {
        Checkpoint checkpoint = Checkpoint.open(directory);
        int job = Integer.parseInt(checkpoint.metadata().get("job"));
        int saved = Integer.parseInt(checkpoint.metadata().get("step"));
        if (saved > step) {
            throw new AssertionError("step " + saved + " in step " + step);
        }
        try (Tensor parts = TestRanks.filled(RANKS * COUNT, -1);
                Tensor all = TestRanks.filled(COUNT, -1)) {
            checkpoint.load(
                    List.of(
                            Shard.part("parts", 0, parts, (long) RANKS * COUNT),
                            Shard.replicated("all", all, COUNT)));
            for (Tensor tensor : List.of(parts, all)) {
                for (float value : TestRanks.values(tensor)) {
                    if (value != value(job, saved)) {
                        throw new AssertionError(value + " in step " + saved + " of job " + job);
                    }
                }
            }
        }
        return job;
    }

    private static float value(int job, int step) {
        return job * 100_000 + step;
    }
}

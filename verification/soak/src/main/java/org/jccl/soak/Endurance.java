package org.jccl.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.IntStream;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.Work;
import org.jccl.store.HashStore;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Millions of small operations and a thousand groups in one process, which must not grow. */
@Command(
        name = "endurance",
        mixinStandardHelpOptions = true,
        description =
                "Runs small all_reduces and makes and closes groups in one process, and"
                        + " prints what it holds; fails when that grows.")
public final class Endurance implements Callable<Integer> {

    private static final Duration TIMEOUT = Duration.ofMinutes(5);
    private static final int MEASUREMENTS = 10;

    /** All_reduces that are issued before the first of them is awaited. */
    private static final int TOGETHER = 50;

    private static final long MOST_HEAP = 2L << 20;
    private static final long MOST_RESIDENT = 32L << 20;

    @Option(names = "--operations", description = "all_reduces of each rank; 10 million by default")
    private int operations = 10_000_000;

    @Option(names = "--groups", description = "groups made and closed meanwhile; 1000 by default")
    private int groups = 1000;

    @Option(names = "--ranks", description = "threads of this process; 2 by default")
    private int ranks = 2;

    @Option(names = "--backend", description = "gloo by default")
    private String backend = "gloo";

    private final List<Resources> measured = new ArrayList<>();
    private volatile Throwable failure;

    private Endurance() {}

    /**
     * The command.
     *
     * @param arguments of the command line
     */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Endurance()).execute(arguments));
    }

    @Override
    public Integer call() throws Exception {
        System.out.println(
                "| all_reduces | groups made and closed | heap (KB) | resident (MB) | threads | descriptors |\n"
                        + "|---|---|---|---|---|---|");
        CyclicBarrier together = new CyclicBarrier(ranks);
        List<Thread> threads = new ArrayList<>();
        try (Store store = HashStore.create(TIMEOUT)) {
            for (int i = 0; i < ranks; i++) {
                int rank = i;
                Thread thread = new Thread(() -> run(store, rank, together), "rank-" + rank);
                thread.start();
                threads.add(thread);
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        if (failure != null) {
            failure.printStackTrace();
            return 1;
        }
        // By the first part everything is loaded and compiled.
        Resources early = measured.get(1);
        Resources late = measured.get(measured.size() - 1);
        boolean flat =
                late.threads() <= early.threads()
                        && late.descriptors() <= early.descriptors()
                        && late.heap() - early.heap() < MOST_HEAP
                        && late.resident() - early.resident() < MOST_RESIDENT;
        System.out.println(flat ? "flat" : "GROWS");
        return flat ? 0 : 1;
    }

    private void run(Store store, int rank, CyclicBarrier together) {
        ProcessGroup world =
                ProcessGroup.builder()
                        .backend(backend)
                        .store(store)
                        .rank(rank)
                        .worldSize(ranks)
                        .timeout(TIMEOUT)
                        .build();
        try (world) {
            List<Integer> everybody = IntStream.range(0, ranks).boxed().toList();
            List<Tensor> tensors = new ArrayList<>();
            for (int i = 0; i < TOGETHER; i++) {
                tensors.add(Tensor.copyOf(new int[4]));
            }
            int part = Math.max(1, operations / MEASUREMENTS);
            int made = 0;
            int next = 0;
            for (int done = 0; done < operations; done += TOGETHER) {
                if (done >= next) {
                    measure(rank, done, made, together);
                    next += part;
                }
                reduceTogether(world, tensors, done, rank);
                if ((long) made * operations < (long) groups * done) {
                    try (ProcessGroup group = world.newGroup(everybody).orElseThrow()) {
                        reduce(group, tensors.get(0), done, rank);
                    }
                    made++;
                }
            }
            measure(rank, operations, made, together);
            tensors.forEach(Tensor::close);
        } catch (Throwable e) {
            failure = e;
            world.abort();
            together.reset();
        }
    }

    /** The first synchronously, the others one behind the other before the first is awaited. */
    private static void reduceTogether(
            ProcessGroup group, List<Tensor> tensors, int from, int rank) {
        reduce(group, tensors.get(0), from, rank);
        List<Work> works = new ArrayList<>(TOGETHER);
        for (int i = 1; i < TOGETHER; i++) {
            fill(tensors.get(i), from + i, rank);
            works.add(group.allReduce(tensors.get(i), ReduceOp.SUM));
        }
        works.forEach(Work::await);
        for (int i = 1; i < TOGETHER; i++) {
            check(group, tensors.get(i), from + i);
        }
    }

    private static void reduce(ProcessGroup group, Tensor tensor, int i, int rank) {
        fill(tensor, i, rank);
        group.sync().allReduce(tensor, ReduceOp.SUM);
        check(group, tensor, i);
    }

    private static void fill(Tensor tensor, int i, int rank) {
        tensor.copyFrom(new int[] {i, rank, -i, 1});
    }

    private static void check(ProcessGroup group, Tensor tensor, int i) {
        int ranks = group.size();
        int[] wanted = {ranks * i, ranks * (ranks - 1) / 2, -ranks * i, ranks};
        if (!Arrays.equals(tensor.copyTo(new int[4]), wanted)) {
            throw new IllegalStateException("wrong sums in operation " + i + " of " + group);
        }
    }

    private void measure(int rank, int done, int made, CyclicBarrier together) throws Exception {
        together.await();
        if (rank == 0) {
            Resources now = Resources.measure();
            measured.add(now);
            System.out.printf(
                    Locale.ROOT,
                    "| %d | %d | %d | %d | %d | %d |%n",
                    done,
                    made,
                    now.heap() >> 10,
                    now.resident() >> 20,
                    now.threads(),
                    now.descriptors());
        }
        together.await();
    }
}

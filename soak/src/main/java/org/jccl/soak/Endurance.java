package org.jccl.soak;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.store.HashStore;
import org.jccl.store.Store;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Millions of small operations and a thousand groups in one process, which must not grow. */
@Command(
        name = "endurance",
        mixinStandardHelpOptions = true,
        description =
                "Runs small all_reduces and makes and closes groups in one process of two ranks, and"
                        + " prints what it holds; fails when that grows.")
public final class Endurance implements Callable<Integer> {

    private static final Duration TIMEOUT = Duration.ofMinutes(5);
    private static final int MEASUREMENTS = 10;
    private static final long MOST_HEAP = 2L << 20;
    private static final long MOST_RESIDENT = 32L << 20;

    @Option(names = "--operations", description = "all_reduces of each rank; 10 million by default")
    private int operations = 10_000_000;

    @Option(names = "--groups", description = "groups made and closed meanwhile; 1000 by default")
    private int groups = 1000;

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
                "| all_reduces | groups | heap (KB) | resident (MB) | threads | descriptors |\n"
                        + "|---|---|---|---|---|---|");
        CyclicBarrier together = new CyclicBarrier(2);
        try (Store store = HashStore.create(TIMEOUT)) {
            Thread other = new Thread(() -> run(store, 1, together), "rank-1");
            other.start();
            run(store, 0, together);
            other.join();
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
                        .worldSize(2)
                        .timeout(TIMEOUT)
                        .build();
        try (world;
                Tensor tensor = Tensor.copyOf(new int[4])) {
            int period = Math.max(1, operations / groups);
            int part = Math.max(1, operations / MEASUREMENTS);
            int made = 0;
            for (int i = 0; i < operations; i++) {
                if (i % part == 0) {
                    measure(rank, i, made, together);
                }
                reduce(world, tensor, i, rank);
                if (i % period == period - 1 && made < groups) {
                    try (ProcessGroup group = world.newGroup(List.of(1, 0)).orElseThrow()) {
                        reduce(group, tensor, i, rank);
                    }
                    made++;
                }
            }
            measure(rank, operations, made, together);
        } catch (Throwable e) {
            failure = e;
            world.abort();
            together.reset();
        }
    }

    private static void reduce(ProcessGroup group, Tensor tensor, int i, int rank) {
        tensor.copyFrom(new int[] {i, rank, -i, 1});
        if ((i & 1) == 0) {
            group.sync().allReduce(tensor, ReduceOp.SUM);
        } else {
            group.allReduce(tensor, ReduceOp.SUM).await();
        }
        int[] sums = tensor.copyTo(new int[4]);
        if (sums[0] != 2 * i || sums[1] != 1 || sums[2] != -2 * i || sums[3] != 2) {
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

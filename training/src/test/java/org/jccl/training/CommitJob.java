package org.jccl.training;

import static org.jccl.testing.Patience.enough;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.GroupAbortedException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Store;
import org.jccl.Tensor;
import org.jccl.etcd.EtcdStore;
import org.jccl.store.TcpStore;

/**
 * A training whose processes end at random moments. Its sums are of small integers, and so exact in
 * any order: whoever knows the members of each step can compute the same weights alone. Prints one
 * line for each step.
 */
final class CommitJob implements Replica {

    static final int COUNT = 5000;
    private static final int OTHER = 16;

    /** How long this process lives on average, in milliseconds; 0 if it is not to be killed. */
    private static double mean;

    /** The last generation that this process has entered. */
    private static volatile int inGeneration = -1;

    /** What this process does. */
    private static volatile String doing = "joining";

    private final int slot;
    private final Tensor weights = Tensor.allocate(Device.CPU, DataType.FLOAT32, COUNT);
    private final Tensor momentum = Tensor.allocate(Device.CPU, DataType.FLOAT32, COUNT);
    private final Tensor gradient = Tensor.allocate(Device.CPU, DataType.FLOAT32, COUNT);
    private byte[] other = new byte[OTHER];

    // Of the gradient.
    private long step;
    private int generation;
    private List<Integer> members = List.of();

    CommitJob(int slot) {
        this.slot = slot;
    }

    /**
     * Runs a rank.
     *
     * @param arguments number of steps, or a file that will have it, smallest number of ranks, mean
     *     lifetime of a process in milliseconds, how long a step takes, and the rank that is not
     *     killed
     */
    public static void main(String[] arguments) throws Exception {
        boolean mayBeKilled =
                Integer.parseInt(System.getenv("RANK")) != Integer.parseInt(arguments[4]);
        mean = mayBeKilled ? Double.parseDouble(arguments[2]) : 0;
        // Some are killed while they join, the others once they have made a step.
        if (ThreadLocalRandom.current().nextInt(4) == 0) {
            endSoon();
        }
        try {
            run(arguments[0], Integer.parseInt(arguments[1]), Long.parseLong(arguments[3]));
        } catch (GroupAbortedException e) {
            // The replacement of a rank that was lost at the last step.
            if (!e.getMessage().contains("have ended the job")) {
                throw e;
            }
            System.exit(e.exitCode());
        }
    }

    /** Kills this process at a random moment, if it may be killed. */
    private static void endSoon() {
        if (mean == 0) {
            return;
        }
        double time = -mean * Math.log(ThreadLocalRandom.current().nextDouble());
        mean = 0;
        endAfter((long) time);
    }

    private static void endAfter(long millis) {
        Thread killer =
                new Thread(
                        () -> {
                            try {
                                Thread.sleep(millis);
                            } catch (InterruptedException e) {
                                throw new IllegalStateException(e);
                            }
                            System.out.println(
                                    "killed %d %d %s"
                                            .formatted(
                                                    inGeneration,
                                                    System.currentTimeMillis(),
                                                    doing));
                            // As by SIGKILL: no hook, no close.
                            Runtime.getRuntime().halt(137);
                        });
        killer.setDaemon(true);
        killer.start();
    }

    private static void run(String last, int minimum, long stepMillis) throws Exception {
        ProcessGroup group =
                ProcessGroup.builder()
                        .backend("gloo")
                        .timeout(enough(Duration.ofSeconds(60)))
                        .reconfigurable(minimum)
                        .build();
        CommitJob job = new CommitJob(group.worldRanks().get(group.rank()));
        Commit commit = new Commit(job);
        while (true) {
            try {
                doing = "entering";
                commit.enter(group);
                inGeneration = group.generation();
                System.out.println(
                        "entered %d %d %s %d"
                                .formatted(
                                        group.generation(), commit.steps(), resources(), job.slot));
                while (commit.steps() < number(last) && !commit.newcomersWait()) {
                    doing = "computing";
                    job.average(group, commit.steps());
                    Thread.sleep(stepMillis);
                    doing = "voting";
                    commit.vote(true);
                    endSoon();
                }
                if (commit.steps() >= number(last)) {
                    break;
                }
            } catch (PeerLostException | OperationTimeoutException | GroupAbortedException e) {
                System.out.println("lost " + e.getClass().getSimpleName());
            }
            doing = "reconfiguring";
            ProcessGroup next = group.reconfigure(enough(Duration.ofSeconds(10)));
            group.close();
            group = next;
        }
        System.out.println("done " + commit.steps());
        group.close();
        System.exit(0);
    }

    /** A file is written some steps before the job ends, so that all ranks read it in time. */
    private static long number(String last) throws IOException {
        if (!last.startsWith("/")) {
            return Long.parseLong(last);
        }
        Path file = Path.of(last);
        return Files.exists(file) ? Long.parseLong(Files.readString(file)) : Long.MAX_VALUE;
    }

    private static Store jobStore() {
        Duration timeout = enough(Duration.ofSeconds(20));
        String etcd = System.getenv("JCCL_STORE");
        return etcd.isEmpty()
                ? TcpStore.connect(
                        System.getenv("MASTER_ADDR"),
                        Integer.parseInt(System.getenv("MASTER_PORT")),
                        timeout)
                : EtcdStore.connect(etcd, timeout);
    }

    /** Threads, descriptors, kilobytes of the heap, and keys in the store. */
    private static String resources() throws Exception {
        System.gc();
        Runtime runtime = Runtime.getRuntime();
        try (Store store = jobStore();
                Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return "%d %d %d %d"
                    .formatted(
                            Thread.activeCount(),
                            descriptors.count(),
                            (runtime.totalMemory() - runtime.freeMemory()) >> 10,
                            store.keyCount());
        }
    }

    private void average(ProcessGroup group, long of) {
        float[] own = gradientOf(slot, of, weights.copyTo(new float[COUNT]));
        gradient.copyFrom(own);
        group.sync().allReduce(gradient, ReduceOp.SUM);
        step = of;
        generation = group.generation();
        members = group.worldRanks();
    }

    @Override
    public List<Tensor> tensors() {
        return List.of(weights, momentum);
    }

    @Override
    public byte[] other() {
        return other.clone();
    }

    @Override
    public void restore(byte[] bytes) {
        other = bytes;
    }

    @Override
    public void apply() {
        float[] values = weights.copyTo(new float[COUNT]);
        float[] velocity = momentum.copyTo(new float[COUNT]);
        apply(values, velocity, gradient.copyTo(new float[COUNT]), members.size());
        weights.copyFrom(values);
        momentum.copyFrom(velocity);
        ByteBuffer.wrap(other).putLong(step + 1).putLong(sum(values));
        System.out.println(
                "step %d %d %s %d %d"
                        .formatted(
                                step,
                                generation,
                                members.toString().replace(" ", ""),
                                sum(values),
                                System.currentTimeMillis()));
    }

    static float[] gradientOf(int slot, long step, float[] weights) {
        Random random = new Random(step * 1009 + slot);
        float[] gradient = new float[COUNT];
        for (int i = 0; i < COUNT; i++) {
            gradient[i] = random.nextInt(2001) - 1000 - (int) (weights[i] * 16) % 1000;
        }
        return gradient;
    }

    static void apply(float[] weights, float[] momentum, float[] sum, int ranks) {
        for (int i = 0; i < COUNT; i++) {
            momentum[i] = 0.9f * momentum[i] + sum[i] / ranks;
            weights[i] += 0.01f * momentum[i];
        }
    }

    static long sum(float[] values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * Float.BYTES);
        bytes.asFloatBuffer().put(values);
        CRC32 crc = new CRC32();
        crc.update(bytes.array());
        return crc.getValue();
    }

    /** What the lines of all processes of a job say, compared with the same steps done alone. */
    static final class Replay {
        private final float[] weights = new float[COUNT];
        private final float[] momentum = new float[COUNT];

        /** Returns the sum of the weights after a step. */
        long step(long step, List<Integer> members) {
            float[] sum = new float[COUNT];
            for (int member : members) {
                float[] one = gradientOf(member, step, weights);
                for (int i = 0; i < COUNT; i++) {
                    sum[i] += one[i];
                }
            }
            apply(weights, momentum, sum, members.size());
            return sum(weights);
        }
    }
}

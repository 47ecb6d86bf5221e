package org.jccl.examples;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.training.Checkpoint;
import org.jccl.training.Shard;

/**
 * A job on Kubernetes whose pod may be evicted (SIGTERM). All ranks finish the same step, save a
 * checkpoint and exit with 143. They continue from there when they are started again.
 *
 * <pre>{@code
 * jccl run -n 2 --shutdown-timeout 25 -- \
 *     java ... org.jccl.examples.PreemptibleTraining /shared/run7 1000
 * }</pre>
 */
public final class PreemptibleTraining implements AutoCloseable {

    /** The exit code of a JVM that SIGTERM ended: 128 and its number. */
    private static final int TERMINATED = 143;

    private static final String STEPS = "steps";

    private final ProcessGroup world;
    private final Path checkpoint;
    private final Tensor weights = Tensor.copyOf(new double[1]);
    private volatile boolean asked;

    private PreemptibleTraining(ProcessGroup world, Path checkpoint) {
        this.world = world;
        this.checkpoint = checkpoint;
    }

    /**
     * Runs one rank; start it with {@code jccl run} or torchrun. Exits with 143 if it was asked to
     * end before its last step, and 75 or 64 if an operation failed.
     *
     * @param args a folder that all ranks see, and the number of steps
     */
    public static void main(String[] args) {
        CountDownLatch left = new CountDownLatch(1);
        int exitCode;
        try (ProcessGroup world = ProcessGroup.init("gloo");
                PreemptibleTraining training = new PreemptibleTraining(world, Path.of(args[0]))) {
            // SIGTERM starts the hook, and the JVM lives as long as it does.
            Runtime.getRuntime()
                    .addShutdownHook(new Thread(() -> training.ask(left), "asked-to-end"));
            exitCode = training.run(Integer.parseInt(args[1])) ? 0 : TERMINATED;
        } catch (JcclException e) {
            e.printStackTrace();
            exitCode = e.exitCode();
        }
        left.countDown();
        System.exit(exitCode);
    }

    /** Frees the weights. */
    @Override
    public void close() {
        weights.close();
    }

    private void ask(CountDownLatch left) {
        asked = true;
        try {
            left.await(1, TimeUnit.MINUTES); // the process is killed before that
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Returns whether all steps are done. */
    private boolean run(int steps) {
        int done = resume();
        print("from step " + done);
        while (done < steps) {
            step(++done);
            if (done < steps && isAnyAsked()) {
                save(done);
                print("left after step " + done);
                return false;
            }
        }
        print("sum " + (long) weights.copyTo(new double[1])[0]);
        return true;
    }

    /** Takes the place of training: adds the step's number for each rank. */
    private void step(int number) {
        try (Tensor gradient = Tensor.copyOf(new double[] {number})) {
            world.sync().allReduce(gradient, ReduceOp.SUM);
            double before = weights.copyTo(new double[1])[0];
            weights.copyFrom(new double[] {before + gradient.copyTo(new double[1])[0]});
        }
        try {
            Thread.sleep(20);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** All ranks get the same answer, so all leave after the same step. */
    private boolean isAnyAsked() {
        try (Tensor flag = Tensor.copyOf(new int[] {asked ? 1 : 0})) {
            world.sync().allReduce(flag, ReduceOp.MAX);
            return flag.copyTo(new int[1])[0] > 0;
        }
    }

    private int resume() {
        Optional<Checkpoint> last = LastCheckpoint.open(world, checkpoint, STEPS);
        if (last.isEmpty()) {
            return 0;
        }
        last.get().load(List.of(Shard.replicated("weights", weights, 1)));
        return Integer.parseInt(last.get().metadata().get(STEPS));
    }

    private void save(int done) {
        Checkpoint.save(
                world,
                checkpoint,
                List.of(Shard.replicated("weights", weights, 1)),
                Map.of(STEPS, Integer.toString(done)));
    }

    private void print(String text) {
        if (world.rank() == 0) {
            System.out.println(text);
        }
    }
}

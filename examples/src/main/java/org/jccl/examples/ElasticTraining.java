package org.jccl.examples;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.ObjIntConsumer;
import org.jccl.JcclException;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.training.Checkpoint;
import org.jccl.training.Shard;

/**
 * Training on handwritten digits that survives lost ranks and nodes: it saves a checkpoint after
 * each epoch, and continues from the last one when it is started again, with any number of ranks.
 *
 * <pre>{@code
 * torchrun --nnodes 1:2 --nproc-per-node 2 --max-restarts 3 \
 *     --rdzv-backend c10d --rdzv-endpoint host1:29400 --no-python \
 *     java ... org.jccl.examples.ElasticTraining --checkpoint /shared/run7
 * }</pre>
 *
 * <p>At the end it proves that the weights equal those of an undisturbed run on one rank, up to
 * rounding.
 */
public final class ElasticTraining {

    private static final long SEED = 7;
    private static final String EPOCHS = "epochs";

    private record Options(Path checkpoint, int epochs, int batch) {

        static Options parse(String[] args) {
            Path checkpoint = null;
            int epochs = 30;
            int batch = 64;
            for (int i = 0; i + 1 < args.length; i += 2) {
                switch (args[i]) {
                    case "--checkpoint" -> checkpoint = Path.of(args[i + 1]);
                    case "--epochs" -> epochs = Integer.parseInt(args[i + 1]);
                    case "--batch" -> batch = Integer.parseInt(args[i + 1]);
                    default -> throw new IllegalArgumentException("unknown option " + args[i]);
                }
            }
            if (checkpoint == null || args.length % 2 != 0) {
                throw new IllegalArgumentException(
                        "usage: ElasticTraining --checkpoint DIR [--epochs N] [--batch N]");
            }
            return new Options(checkpoint, epochs, batch);
        }
    }

    private final ProcessGroup world;
    private final Options options;
    private final ObjIntConsumer<ProcessGroup> afterEpoch;
    private final Digits train = Digits.load().train();
    private final Network network = new Network(SEED);

    private ElasticTraining(
            ProcessGroup world, Options options, ObjIntConsumer<ProcessGroup> afterEpoch) {
        this.world = world;
        this.options = options;
        this.afterEpoch = afterEpoch;
    }

    /**
     * Runs one rank; start it with torchrun or {@code jccl run}. Exits with 75 if the job should be
     * started again, 64 if that would not help, and 1 if the proof fails.
     *
     * @param args {@code --checkpoint DIR}, a folder that all ranks see, {@code --epochs N} (30),
     *     {@code --batch N}, the number of images of all ranks in one step (64)
     */
    public static void main(String[] args) {
        run(args, (world, epoch) -> {});
    }

    /**
     * Runs one rank.
     *
     * @param afterEpoch called with the number of each epoch that is saved
     */
    static void run(String[] args, ObjIntConsumer<ProcessGroup> afterEpoch) {
        Options options = Options.parse(args);
        try (ProcessGroup world = ProcessGroup.init("gloo")) {
            if (!new ElasticTraining(world, options, afterEpoch).run().holds()) {
                System.exit(1);
            }
        } catch (JcclException e) {
            e.printStackTrace();
            System.exit(e.exitCode());
        }
    }

    private Proof run() {
        try (AllReduceAverage average = new AllReduceAverage(world, network)) {
            Trainer trainer =
                    new Trainer(
                            network, average, world.rank(), world.size(), options.batch(), SEED);
            int done = resume(trainer);
            print("%d ranks, from epoch %d", world.size(), done);
            for (int epoch = done + 1; epoch <= options.epochs(); epoch++) {
                trainer.epoch(train);
                save(trainer, epoch);
                print("epoch %d of %d saved", epoch, options.epochs());
                afterEpoch.accept(world, epoch);
            }
        }
        Proof proof = Proof.of(world, network, world.rank() == 0 ? undisturbed() : null);
        print(
                "%s: largest difference from an undisturbed run on one rank %.1e",
                proof.holds() ? "PASSED" : "FAILED", proof.difference());
        return proof;
    }

    /** Loads the last checkpoint and returns how many epochs it has seen. */
    private int resume(Trainer trainer) {
        Optional<Checkpoint> last = LastCheckpoint.open(world, options.checkpoint(), EPOCHS);
        if (last.isEmpty()) {
            return 0;
        }
        Checkpoint checkpoint = last.get();
        int epochs = Integer.parseInt(checkpoint.metadata().get(EPOCHS));
        List<float[]> values = values(trainer);
        List<Shard> shards = shards(values);
        checkpoint.load(shards);
        for (int i = 0; i < values.size(); i++) {
            try (Tensor loaded = shards.get(i).tensor()) {
                loaded.copyTo(values.get(i));
            }
        }
        trainer.skip(epochs, train);
        return epochs;
    }

    private void save(Trainer trainer, int epochs) {
        List<Shard> shards = shards(values(trainer));
        Map<String, String> metadata = Map.of(EPOCHS, Integer.toString(epochs));
        try {
            Checkpoint.save(world, options.checkpoint(), shards, metadata);
        } finally {
            shards.forEach(shard -> shard.tensor().close());
        }
    }

    private List<float[]> values(Trainer trainer) {
        List<float[]> values = new ArrayList<>();
        network.layers().forEach(layer -> values.add(layer.weights));
        values.addAll(List.of(trainer.velocities()));
        return values;
    }

    private static List<Shard> shards(List<float[]> values) {
        List<Shard> shards = new ArrayList<>();
        for (float[] each : values) {
            String name = "value" + shards.size();
            shards.add(Shard.replicated(name, Tensor.copyOf(each), each.length));
        }
        return shards;
    }

    private Network undisturbed() {
        Network alone = new Network(SEED);
        Trainer trainer =
                new Trainer(alone, GradientAverage.OF_ONE_RANK, 0, 1, options.batch(), SEED);
        for (int epoch = 0; epoch < options.epochs(); epoch++) {
            trainer.epoch(train);
        }
        return alone;
    }

    private void print(String format, Object... values) {
        if (world.rank() == 0) {
            System.out.println(String.format(Locale.ROOT, format, values));
        }
    }
}

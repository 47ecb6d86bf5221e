package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.clip_grad_norm_;
import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.set_num_threads;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.pytorch.DistributedDataParallel;
import org.jccl.pytorch.FullyShardedDataParallel;
import org.jccl.pytorch.TorchCheckpoint;
import org.jccl.pytorch.TorchLibrary;
import org.jccl.training.DeviceMesh;

/**
 * Trains a GPT on the characters of a text: on one process, with whole parameters on each rank
 * ({@code ddp}), with parameters that are divided over the ranks ({@code fsdp}), with pairs of
 * ranks that share each layer ({@code tp}), or with pairs of which each rank has half of the layers
 * ({@code pp}). The losses are the same but for the order of sums.
 */
public final class GptTraining {

    /** Pieces of text of all ranks in a step. */
    private static final int BATCH = 16;

    /** Of these, those that go through a pipeline together. */
    private static final int MICRO_BATCH = 2;

    private static final double LEARNING_RATE = 3e-3;
    private static final double LARGEST_NORM = 1;
    private static final double TOLERANCE = 1e-6;

    /** GPUs add in another order for a batch of another size. */
    private static final double TOLERANCE_OF_GPUS = 1e-4;

    private final ProcessGroup world;
    private final TrainingDevice where;
    private final int steps;
    private final String text;
    private final String alphabet;

    /** For the checkpoint and the curve; null if the program only compares. */
    private final Path directory;

    private GptTraining(
            ProcessGroup world, TrainingDevice where, int steps, String text, Path directory) {
        this.world = world;
        this.where = where;
        this.steps = steps;
        this.text = text;
        this.directory = directory;
        StringBuilder characters = new StringBuilder();
        text.chars().distinct().sorted().forEach(each -> characters.append((char) each));
        this.alphabet = characters.toString();
    }

    /**
     * Runs one rank; start it with {@code jccl run} or torchrun, with 1, 2, 4, 8 or 16 ranks.
     *
     * @param args {@code compare} (the default) trains in all ways and exits with 1 if losses
     *     differ. {@code ddp}, {@code fsdp}, {@code tp} and {@code pp} train in one way, continue
     *     from the directory if it has a checkpoint, and write a checkpoint and {@code loss.svg}
     *     there. Then the number of steps (200), a file with text ({@code README.md}) and the
     *     directory ({@code target/gpt}). {@code --device cuda} trains on GPUs, for which there is
     *     {@code ddp} only
     * @throws IOException if a file cannot be read or written
     */
    public static void main(String[] args) throws IOException {
        TorchLibrary.load();
        set_num_threads(1); // ranks share a host
        TrainingDevice where = TrainingDevice.of(args);
        List<String> given = where.arguments();
        String kind = given.isEmpty() ? "compare" : given.get(0);
        int steps = given.size() < 2 ? 200 : Integer.parseInt(given.get(1));
        String text = Files.readString(Path.of(given.size() < 3 ? "README.md" : given.get(2)));
        Path directory = Path.of(given.size() < 4 ? "target/gpt" : given.get(3));
        boolean same = true;
        try (ProcessGroup world = where.world()) {
            if (kind.equals("compare")) {
                same = new GptTraining(world, where, steps, text, null).compare();
            } else {
                new GptTraining(world, where, steps, text, directory).train(kind);
            }
        }
        if (!same) {
            System.exit(1);
        }
    }

    private void train(String kind) throws IOException {
        if (!where.device().isCpu() && !kind.equals("ddp")) {
            throw new IllegalArgumentException(kind + " is for the CPU only, ddp for both");
        }
        float[] losses =
                switch (kind) {
                    case "ddp" -> whole();
                    case "fsdp" -> divided();
                    case "tp" -> tensorParallel();
                    case "pp" -> pipelineParallel();
                    default -> throw new IllegalArgumentException(kind + ": ddp, fsdp, tp or pp");
                };
        print("loss %.6f after step %d", losses[steps - 1], steps);
        if (world.rank() == 0) {
            LossCurve.write(directory.resolve("loss.svg"), losses);
        }
    }

    private Gpt seeded() {
        manual_seed(7);
        return where.move(new Gpt(alphabet.length()));
    }

    private static AdamW optimizer(TensorVector parameters) {
        return new AdamW(parameters, new AdamWOptions(LEARNING_RATE));
    }

    private float[] alone() {
        Gpt net = seeded();
        AdamW optimizer = optimizer(net.parameters());
        return eachStep(
                "one process",
                null,
                step -> {
                    optimizer.zero_grad();
                    Tensor loss = loss(net, step, (unit, forward) -> forward.get(), 0, 1);
                    loss.backward();
                    clip_grad_norm_(net.parameters(), LARGEST_NORM);
                    optimizer.step();
                    return loss.item_float();
                });
    }

    private float[] whole() {
        Gpt net = seeded();
        try (DistributedDataParallel ddp = DistributedDataParallel.of(world, net)) {
            AdamW optimizer = optimizer(net.parameters());
            return eachStep(
                    "ddp",
                    TorchCheckpoint.of(world, net, optimizer),
                    step -> {
                        optimizer.zero_grad();
                        Tensor loss = loss(net, step, (unit, forward) -> forward.get(), world);
                        ddp.backward(loss);
                        clip_grad_norm_(net.parameters(), LARGEST_NORM);
                        optimizer.step();
                        return mean(loss);
                    });
        }
    }

    private float[] divided() {
        Gpt net = seeded();
        try (FullyShardedDataParallel fsdp = FullyShardedDataParallel.of(world, net, Gpt.UNITS)) {
            AdamW optimizer = optimizer(fsdp.parameters());
            return eachStep(
                    "fsdp",
                    TorchCheckpoint.of(world, fsdp, optimizer),
                    step -> {
                        optimizer.zero_grad();
                        Tensor loss = loss(net, step, fsdp::run, world);
                        fsdp.backward(loss);
                        fsdp.clipGradientNorm(LARGEST_NORM);
                        optimizer.step();
                        return mean(loss);
                    });
        }
    }

    /** Pairs of ranks share each layer; ranks with the same part of it average gradients. */
    private float[] tensorParallel() {
        int shared = Math.min(2, world.size());
        int[] shape = {world.size() / shared, shared};
        try (DeviceMesh mesh = DeviceMesh.of(world, shape, "dp", "tp")) {
            TensorParallel ranks = new TensorParallel(mesh.group("tp"));
            Gpt net = Gpt.partOf(seeded(), ranks);
            TensorVector divided = net.divided();
            ProcessGroup copies = mesh.group("dp");
            try (DistributedDataParallel ddp = DistributedDataParallel.of(copies, net)) {
                AdamW optimizer = optimizer(net.parameters());
                return eachStep(
                        "tp",
                        TorchCheckpoint.of(copies, net, optimizer),
                        step -> {
                            optimizer.zero_grad();
                            Tensor loss = loss(net, step, (unit, part) -> part.get(), copies);
                            ddp.backward(loss);
                            clip(net.parameters(), divided, mesh.group("tp"));
                            optimizer.step();
                            return mean(loss);
                        });
            }
        }
    }

    /** Each rank of a pair has half of the layers; ranks with the same ones average gradients. */
    private float[] pipelineParallel() {
        int stages = Math.min(2, world.size());
        int[] shape = {world.size() / stages, stages};
        try (DeviceMesh mesh = DeviceMesh.of(world, shape, "dp", "pp")) {
            ProcessGroup line = mesh.group("pp");
            ProcessGroup copies = mesh.group("dp");
            PipelineParallel pipeline = new PipelineParallel(line);
            Gpt net = Gpt.stageOf(seeded(), line.rank(), line.size());
            int pieces = BATCH / copies.size() / MICRO_BATCH;
            try (DistributedDataParallel ddp = DistributedDataParallel.of(copies, net)) {
                AdamW optimizer = optimizer(net.parameters());
                return eachStep(
                        "pp",
                        TorchCheckpoint.of(copies, net, optimizer),
                        step -> {
                            optimizer.zero_grad();
                            PipelineParallel.Stage stage =
                                    (piece, input) -> {
                                        int at = copies.rank() * pieces + piece;
                                        Batch batch = batch(step, at, copies.size() * pieces);
                                        Tensor x = input == null ? batch.text() : input;
                                        Tensor y = net.forward(x, (unit, part) -> part.get());
                                        return pipeline.isLast()
                                                ? loss(y, batch).div(new Scalar(pieces))
                                                : y;
                                    };
                            double loss =
                                    pipeline.step(
                                            ddp,
                                            pieces,
                                            stage,
                                            MICRO_BATCH,
                                            Gpt.CONTEXT,
                                            Gpt.WIDTH);
                            clip(net.parameters(), net.parameters(), line);
                            optimizer.step();
                            return (float) (sum(loss) / copies.size());
                        });
            }
        }
    }

    /** Like {@code clip_grad_norm_}, where other ranks of a group have more of some parameters. */
    private static void clip(TensorVector all, TensorVector divided, ProcessGroup group) {
        double[] squares = {squares(divided)};
        double ofAll = squares(all) - squares[0];
        group.sync().allReduce(squares, ReduceOp.SUM);
        double norm = Math.sqrt(ofAll + squares[0]);
        if (norm > LARGEST_NORM) {
            Scalar factor = new Scalar(LARGEST_NORM / norm);
            for (long i = 0; i < all.size(); i++) {
                all.get(i).grad().mul_(factor);
            }
        }
    }

    private static double squares(TensorVector parameters) {
        double squares = 0;
        for (long i = 0; i < parameters.size(); i++) {
            squares += Math.pow(parameters.get(i).grad().norm().item_double(), 2);
        }
        return squares;
    }

    /** Runs the steps from the last checkpoint on, and saves one. The action returns the loss. */
    private float[] eachStep(String kind, TorchCheckpoint state, IntFunction<Float> action) {
        boolean saves = state != null && directory != null;
        // Where a pair of ranks shares the network, a checkpoint has one rank's part.
        boolean shared = kind.equals("tp") || kind.equals("pp");
        Path saved = saves ? directory.resolve(kind + (shared ? part() : "")) : null;
        float[] losses = new float[steps];
        int first = saves && Files.exists(saved) ? resume(state, saved, losses) : 0;
        long begin = System.nanoTime();
        for (int step = first; step < steps; step++) {
            PointerScope memoryOfThisStep = new PointerScope();
            losses[step] = action.apply(step);
            memoryOfThisStep.close();
            if (step % 50 == 0) {
                print("%s: loss %.3f after step %d", kind, losses[step], step + 1);
            }
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        int tokens = (steps - first) * BATCH * Gpt.CONTEXT;
        print("%s: %.0f tokens (characters) a second", kind, tokens / seconds);
        if (saves) {
            String curve =
                    IntStream.range(0, steps)
                            .mapToObj(step -> Float.toString(losses[step]))
                            .collect(Collectors.joining(" "));
            state.save(saved, Map.of("losses", curve));
        }
        return losses;
    }

    private int part() {
        return world.rank() % Math.min(2, world.size());
    }

    private int resume(TorchCheckpoint state, Path saved, float[] losses) {
        String[] earlier = state.load(saved).get("losses").split(" ");
        if (earlier.length >= steps) {
            throw new IllegalArgumentException(
                    saved + " has " + earlier.length + " steps already; name more than that");
        }
        for (int step = 0; step < earlier.length; step++) {
            losses[step] = Float.parseFloat(earlier[step]);
        }
        print("continues after step %d", earlier.length);
        return earlier.length;
    }

    private Tensor loss(Gpt net, int step, Gpt.Units units, ProcessGroup group) {
        return loss(net, step, units, group.rank(), group.size());
    }

    private Tensor loss(Gpt net, int step, Gpt.Units units, int rank, int ranks) {
        Batch batch = batch(step, rank, ranks);
        return loss(net.forward(batch.text(), units), batch);
    }

    private Tensor loss(Tensor scores, Batch batch) {
        return cross_entropy_loss(scores.view(-1, alphabet.length()), batch.next());
    }

    /** Pieces of the text, and the characters that follow. */
    private record Batch(Tensor text, Tensor next) {}

    /** A rank's pieces of the text. */
    private Batch batch(int step, int rank, int ranks) {
        int pieces = BATCH / ranks;
        long[] input = new long[pieces * Gpt.CONTEXT];
        long[] next = new long[input.length];
        Random random = new Random(step); // the same on all ranks
        for (int piece = 0; piece < BATCH; piece++) {
            int begin = random.nextInt(text.length() - Gpt.CONTEXT);
            int own = piece - rank * pieces;
            for (int i = 0; i < Gpt.CONTEXT && own >= 0 && own < pieces; i++) {
                input[own * Gpt.CONTEXT + i] = alphabet.indexOf(text.charAt(begin + i));
                next[own * Gpt.CONTEXT + i] = alphabet.indexOf(text.charAt(begin + i + 1));
            }
        }
        return new Batch(
                where.move(Tensor.create(input).view(pieces, Gpt.CONTEXT)),
                where.move(Tensor.create(next)));
    }

    /** Over all ranks. Ranks that share layers have the same loss. */
    private float mean(Tensor loss) {
        return (float) (sum(loss.item_double()) / world.size());
    }

    /** In double precision, so that a sum of many losses is as precise as one of them. */
    private double sum(double value) {
        double[] sum = {value};
        world.sync().allReduce(sum, ReduceOp.SUM);
        return sum[0];
    }

    private boolean compare() {
        float[] expected = alone();
        boolean same = isSame("ddp", whole(), expected);
        if (where.device().isCpu()) {
            same &= isSame("fsdp", divided(), expected);
            same &= isSame("tp", tensorParallel(), expected);
            same &= isSame("pp", pipelineParallel(), expected);
        }
        float last = expected[steps - 1];
        print("loss %.3f after the first step, %.3f after the last", expected[0], last);
        boolean passed = same && last < expected[0] / 1.2f;
        print(passed ? "PASSED" : "FAILED");
        return passed;
    }

    private boolean isSame(String kind, float[] losses, float[] expected) {
        double difference =
                IntStream.range(0, steps)
                        .mapToDouble(step -> Math.abs(losses[step] - expected[step]))
                        .max()
                        .orElse(0);
        double tolerance = where.device().isCpu() ? TOLERANCE : TOLERANCE_OF_GPUS;
        print("%s: losses differ by %.1e (tolerance %.1e)", kind, difference, tolerance);
        return difference <= tolerance;
    }

    /** One rank speaks for all. */
    private void print(String format, Object... values) {
        if (world.rank() == 0) {
            System.out.println(String.format(Locale.ROOT, format, values));
        }
    }
}

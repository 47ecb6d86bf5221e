package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.clip_grad_norm_;
import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;
import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.set_num_threads;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Random;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AdamW;
import org.bytedeco.pytorch.AdamWOptions;
import org.bytedeco.pytorch.Tensor;
import org.jccl.ProcessGroup;
import org.jccl.pytorch.DistributedDataParallel;
import org.jccl.pytorch.FullyShardedDataParallel;
import org.jccl.pytorch.TorchLibrary;

/**
 * Trains a GPT on the characters of a text twice: with whole parameters on each rank, and with
 * parameters that are divided over the ranks. Both must have the same losses.
 */
public final class GptTraining {

    /** Pieces of text of all ranks in a step. */
    private static final int BATCH = 16;

    private static final double LEARNING_RATE = 3e-3;

    /** Measured with 2 and 4 ranks: 0. Sums of larger messages may have another order. */
    private static final double TOLERANCE = 1e-4;

    private final ProcessGroup world;
    private final int steps;
    private final String text;
    private final String alphabet;

    private GptTraining(ProcessGroup world, int steps, String text) {
        this.world = world;
        this.steps = steps;
        this.text = text;
        StringBuilder characters = new StringBuilder();
        text.chars().distinct().sorted().forEach(each -> characters.append((char) each));
        this.alphabet = characters.toString();
    }

    /**
     * Runs one rank; start it with {@code jccl run} or torchrun, with a number of ranks that
     * divides 16. Exits with 1 if the losses differ.
     *
     * @param args the number of steps, 200 when empty, and a file with text, {@code README.md} when
     *     empty
     * @throws IOException if the file cannot be read
     */
    public static void main(String[] args) throws IOException {
        TorchLibrary.load();
        set_num_threads(1); // ranks share a host
        int steps = args.length == 0 ? 200 : Integer.parseInt(args[0]);
        String text = Files.readString(Path.of(args.length < 2 ? "README.md" : args[1]));
        boolean same;
        try (ProcessGroup world = ProcessGroup.init("gloo")) {
            GptTraining training = new GptTraining(world, steps, text);
            same = training.compare(training.whole(), training.divided());
        }
        if (!same) {
            System.exit(1);
        }
    }

    private Gpt seeded() {
        manual_seed(7);
        return new Gpt(alphabet.length());
    }

    private float[] whole() {
        Gpt net = seeded();
        float[] losses = new float[steps];
        try (DistributedDataParallel ddp = DistributedDataParallel.of(world, net)) {
            AdamW optimizer = new AdamW(net.parameters(), new AdamWOptions(LEARNING_RATE));
            eachStep(
                    "whole",
                    step -> {
                        optimizer.zero_grad();
                        Tensor loss = loss(net, step, (unit, forward) -> forward.get());
                        ddp.backward(loss);
                        clip_grad_norm_(net.parameters(), 1.0);
                        optimizer.step();
                        losses[step] = loss.item_float();
                    });
        }
        return losses;
    }

    private float[] divided() {
        Gpt net = seeded();
        float[] losses = new float[steps];
        try (FullyShardedDataParallel fsdp = FullyShardedDataParallel.of(world, net, Gpt.UNITS)) {
            AdamW optimizer = new AdamW(fsdp.parameters(), new AdamWOptions(LEARNING_RATE));
            eachStep(
                    "divided",
                    step -> {
                        optimizer.zero_grad();
                        Tensor loss = loss(net, step, fsdp::run);
                        fsdp.backward(loss);
                        fsdp.clipGradientNorm(1.0);
                        optimizer.step();
                        losses[step] = loss.item_float();
                    });
        }
        return losses;
    }

    private void eachStep(String name, Consumer<Integer> action) {
        long begin = System.nanoTime();
        for (int step = 0; step < steps; step++) {
            PointerScope memoryOfThisStep = new PointerScope();
            action.accept(step);
            memoryOfThisStep.close();
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        print("%s: %.0f characters a second", name, steps * BATCH * Gpt.CONTEXT / seconds);
    }

    /** The loss of this rank's pieces of the text. */
    private Tensor loss(Gpt net, int step, Gpt.Units units) {
        int pieces = BATCH / world.size();
        long[] input = new long[pieces * Gpt.CONTEXT];
        long[] next = new long[input.length];
        Random random = new Random(step); // the same on all ranks
        for (int piece = 0; piece < BATCH; piece++) {
            int begin = random.nextInt(text.length() - Gpt.CONTEXT);
            int own = piece - world.rank() * pieces;
            for (int i = 0; i < Gpt.CONTEXT && own >= 0 && own < pieces; i++) {
                input[own * Gpt.CONTEXT + i] = alphabet.indexOf(text.charAt(begin + i));
                next[own * Gpt.CONTEXT + i] = alphabet.indexOf(text.charAt(begin + i + 1));
            }
        }
        Tensor scores = net.forward(Tensor.create(input).view(pieces, Gpt.CONTEXT), units);
        return cross_entropy_loss(scores.view(-1, alphabet.length()), Tensor.create(next));
    }

    private boolean compare(float[] whole, float[] divided) {
        float difference = 0;
        for (int i = 0; i < steps; i++) {
            difference = Math.max(difference, Math.abs(whole[i] - divided[i]));
        }
        print("loss %.3f after the first step, %.3f after the last", whole[0], whole[steps - 1]);
        print("largest difference of a loss: %.1e (tolerance %.1e)", difference, TOLERANCE);
        boolean same = difference <= TOLERANCE && whole[steps - 1] < whole[0] / 1.2f;
        print(same ? "PASSED" : "FAILED");
        return same;
    }

    /** One rank speaks for all. */
    private void print(String format, Object... values) {
        if (world.rank() == 0) {
            System.out.println(String.format(Locale.ROOT, format, values));
        }
    }
}

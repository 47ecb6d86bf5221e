package org.jccl.examples;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.jccl.Tensor;

/**
 * A small language model whose hidden layers are divided between ranks. Each block adds to its
 * input what two layers make of it. A rank has some rows of the first layer and the same columns of
 * the second, so that one sum over the ranks completes a block. Its weights are random: what it
 * writes has no meaning, but only one right answer.
 */
final class ParallelModel {

    /** The characters from this one on. */
    private static final char FIRST = ' ';

    private static final int CHARACTERS = 95;
    private static final int CONTEXT = 16;
    private static final int WIDTH = 128;
    private static final int HIDDEN = 512;
    private static final int BLOCKS = 4;
    private static final long SEED = 11;

    private final float[][] embedding;
    private final float[][] positions;

    /** By block: the rows of this rank, each with WIDTH weights. */
    private final float[][][] up = new float[BLOCKS][][];

    /** By block: the columns of this rank, each with WIDTH weights. */
    private final float[][][] down = new float[BLOCKS][][];

    private final FloatBuffer partial =
            ByteBuffer.allocateDirect(WIDTH * Float.BYTES)
                    .order(ByteOrder.nativeOrder())
                    .asFloatBuffer();

    /** Borrows memory that the garbage collector frees, so nobody has to close it. */
    private final Tensor partialTensor = Tensor.of(partial);

    private final Consumer<Tensor> sum;

    /**
     * Creates a rank's part.
     *
     * @param sum adds up a tensor over the ranks, in place
     */
    ParallelModel(int rank, int size, Consumer<Tensor> sum) {
        this.sum = sum;
        SplittableRandom random = new SplittableRandom(SEED);
        embedding = weights(random, CHARACTERS);
        positions = weights(random, CONTEXT);
        int from = HIDDEN * rank / size;
        int end = HIDDEN * (rank + 1) / size;
        for (int block = 0; block < BLOCKS; block++) {
            up[block] = Arrays.copyOfRange(weights(random, HIDDEN), from, end);
            down[block] = Arrays.copyOfRange(weights(random, HIDDEN), from, end);
        }
    }

    private static float[][] weights(SplittableRandom random, int rows) {
        float[][] all = new float[rows][WIDTH];
        for (float[] row : all) {
            for (int i = 0; i < WIDTH; i++) {
                row[i] = (float) random.nextDouble(-1, 1);
            }
        }
        return all;
    }

    /** Continues a text. All ranks call it with the same arguments, and get the same answer. */
    String generate(String prompt, int characters) {
        StringBuilder text = new StringBuilder(prompt);
        for (int i = 0; i < characters; i++) {
            text.append(next(text));
        }
        return text.substring(prompt.length());
    }

    private char next(CharSequence text) {
        float[] state = new float[WIDTH];
        int begin = Math.max(0, text.length() - CONTEXT);
        for (int at = begin; at < text.length(); at++) {
            float[] token = embedding[Math.floorMod(text.charAt(at) - FIRST, CHARACTERS)];
            float[] position = positions[at - begin];
            for (int i = 0; i < WIDTH; i++) {
                state[i] += token[i] * position[i];
            }
        }
        for (int block = 0; block < BLOCKS; block++) {
            addBlock(normalized(state), up[block], down[block], state);
        }
        return (char) (FIRST + best(normalized(state)));
    }

    private void addBlock(float[] input, float[][] rows, float[][] columns, float[] state) {
        float[] mine = new float[WIDTH];
        for (int row = 0; row < rows.length; row++) {
            float hidden = Math.max(0, dot(rows[row], input));
            for (int i = 0; i < WIDTH; i++) {
                mine[i] += hidden * columns[row][i];
            }
        }
        partial.put(0, mine);
        sum.accept(partialTensor);
        for (int i = 0; i < WIDTH; i++) {
            state[i] += partial.get(i);
        }
    }

    private int best(float[] state) {
        int best = 0;
        for (int each = 1; each < CHARACTERS; each++) {
            if (dot(embedding[each], state) > dot(embedding[best], state)) {
                best = each;
            }
        }
        return best;
    }

    private static float dot(float[] a, float[] b) {
        float sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    private static float[] normalized(float[] state) {
        float scale = (float) (1 / Math.sqrt(1e-6 + dot(state, state)));
        float[] result = new float[state.length];
        for (int i = 0; i < state.length; i++) {
            result[i] = scale * state[i];
        }
        return result;
    }
}

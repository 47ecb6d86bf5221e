package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.arange;
import static org.bytedeco.pytorch.global.torch.gelu;
import static org.bytedeco.pytorch.global.torch.scaled_dot_product_attention;

import java.util.function.Supplier;
import org.bytedeco.pytorch.DoubleOptional;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.LayerNormImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A small GPT for characters: embeddings, blocks of attention and a perceptron, and a head. */
final class Gpt extends Module {

    /** Characters that it sees at once. */
    static final int CONTEXT = 32;

    private static final int WIDTH = 64;
    private static final int HEADS = 4;
    private static final int BLOCKS = 2;

    /** The units of the forward pass in their order; the first one is all that is in no block. */
    static final String[] UNITS = {"", "block0", "block1"};

    private final EmbeddingImpl characters;
    private final EmbeddingImpl positions =
            register_module("positions", new EmbeddingImpl(CONTEXT, WIDTH));
    private final Block[] blocks = new Block[BLOCKS];
    private final LayerNormImpl norm = register_module("norm", norm());
    private final LinearImpl head;

    /** How a unit runs: as it is, or as {@code FullyShardedDataParallel} runs it. */
    interface Units {
        Tensor run(String unit, Supplier<Tensor> forward);
    }

    private static LayerNormImpl norm() {
        return new LayerNormImpl(new LongVector(new long[] {WIDTH}));
    }

    /** Attention to earlier characters, and a perceptron. */
    private static final class Block extends Module {
        private final LayerNormImpl norm1 = register_module("norm1", norm());
        private final LinearImpl qkv = register_module("qkv", new LinearImpl(WIDTH, 3 * WIDTH));
        private final LinearImpl joined = register_module("joined", new LinearImpl(WIDTH, WIDTH));
        private final LayerNormImpl norm2 = register_module("norm2", norm());
        private final LinearImpl up = register_module("up", new LinearImpl(WIDTH, 4 * WIDTH));
        private final LinearImpl down = register_module("down", new LinearImpl(4 * WIDTH, WIDTH));

        Tensor forward(Tensor x) {
            Tensor all = qkv.forward(norm1.forward(x));
            Tensor attention =
                    scaled_dot_product_attention(
                            head(all, 0),
                            head(all, 1),
                            head(all, 2),
                            new TensorOptional(),
                            0,
                            true,
                            new DoubleOptional(),
                            false);
            Tensor heads = attention.transpose(1, 2).contiguous().view(x.size(0), CONTEXT, WIDTH);
            Tensor y = x.add(joined.forward(heads));
            return y.add(down.forward(gelu(up.forward(norm2.forward(y)))));
        }

        /** Queries, keys or values: batch, head, position, element. */
        private static Tensor head(Tensor all, long which) {
            return all.narrow(2, which * WIDTH, WIDTH)
                    .contiguous()
                    .view(all.size(0), CONTEXT, HEADS, WIDTH / HEADS)
                    .transpose(1, 2);
        }
    }

    Gpt(int alphabet) {
        characters = register_module("characters", new EmbeddingImpl(alphabet, WIDTH));
        head = register_module("head", new LinearImpl(WIDTH, alphabet));
        for (int i = 0; i < BLOCKS; i++) {
            blocks[i] = register_module("block" + i, new Block());
        }
    }

    /** Scores of the next character at each position. */
    Tensor forward(Tensor text, Units units) {
        Tensor places = arange(new Scalar(CONTEXT)).to(ScalarType.Long);
        Tensor x = units.run("", () -> characters.forward(text).add(positions.forward(places)));
        for (int i = 0; i < BLOCKS; i++) {
            Tensor input = x;
            Block block = blocks[i];
            x = units.run("block" + i, () -> block.forward(input));
        }
        Tensor last = x;
        return units.run("", () -> head.forward(norm.forward(last)));
    }
}

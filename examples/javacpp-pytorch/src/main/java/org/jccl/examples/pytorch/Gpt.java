package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.arange;
import static org.bytedeco.pytorch.global.torch.gelu;
import static org.bytedeco.pytorch.global.torch.linear;
import static org.bytedeco.pytorch.global.torch.scaled_dot_product_attention;

import java.util.LinkedHashMap;
import java.util.Map;
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
import org.bytedeco.pytorch.TensorVector;

/** A small GPT for characters: embeddings, blocks of attention and a perceptron, and a head. */
final class Gpt extends Module {

    /** Characters that it sees at once. */
    static final int CONTEXT = 32;

    static final int WIDTH = 64;
    private static final int HEADS = 4;
    private static final int BLOCKS = 2;

    /** The units of the forward pass in their order; the first one is all that is in no block. */
    static final String[] UNITS = {"", "block0", "block1"};

    /** Of a stage of a pipeline that is not the first one, null. */
    private final EmbeddingImpl characters;

    private final EmbeddingImpl positions;
    private final Map<String, Block> blocks = new LinkedHashMap<>();

    /** Of a stage of a pipeline that is not the last one, null. */
    private final LayerNormImpl norm;

    private final LinearImpl head;

    /** How a unit runs: as it is, or as {@code FullyShardedDataParallel} runs it. */
    interface Units {
        Tensor run(String unit, Supplier<Tensor> forward);
    }

    private static LayerNormImpl norm() {
        return new LayerNormImpl(new LongVector(new long[] {WIDTH}));
    }

    /** Attention to earlier characters, and a perceptron. Each rank has some heads. */
    private static final class Block extends Module {
        private final TensorParallel ranks;

        /** Elements of this rank's heads. */
        private final int width;

        private final LayerNormImpl norm1 = register_module("norm1", norm());
        private final LinearImpl qkv;
        private final LinearImpl joined;
        private final LayerNormImpl norm2 = register_module("norm2", norm());
        private final LinearImpl up;
        private final LinearImpl down;

        Block(TensorParallel ranks) {
            this.ranks = ranks;
            width = WIDTH / ranks.size();
            qkv = register_module("qkv", new LinearImpl(WIDTH, 3 * width));
            joined = register_module("joined", new LinearImpl(width, WIDTH));
            up = register_module("up", new LinearImpl(WIDTH, 4 * width));
            down = register_module("down", new LinearImpl(4 * width, WIDTH));
        }

        Tensor forward(Tensor x) {
            Tensor all = qkv.forward(ranks.input(norm1.forward(x)));
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
            Tensor heads = attention.transpose(1, 2).contiguous().view(x.size(0), CONTEXT, width);
            Tensor y = x.add(summed(joined, heads));
            return y.add(summed(down, gelu(up.forward(ranks.input(norm2.forward(y))))));
        }

        /** A layer whose inputs are divided. The bias is added once. */
        private Tensor summed(LinearImpl layer, Tensor part) {
            return ranks.sum(linear(part, layer.weight())).add(layer.bias());
        }

        /** Queries, keys or values: batch, head, position, element. */
        private Tensor head(Tensor all, long which) {
            return all.narrow(2, which * width, width)
                    .contiguous()
                    .view(all.size(0), CONTEXT, HEADS / ranks.size(), WIDTH / HEADS)
                    .transpose(1, 2);
        }

        void copyPart(Block whole) {
            ranks.copyOutputs(whole.qkv, qkv, 3);
            ranks.copyInputs(whole.joined, joined);
            ranks.copyOutputs(whole.up, up, 1);
            ranks.copyInputs(whole.down, down);
        }

        void addDivided(TensorVector parameters) {
            parameters.push_back(qkv.weight()).push_back(qkv.bias()).push_back(joined.weight());
            parameters.push_back(up.weight()).push_back(up.bias()).push_back(down.weight());
        }
    }

    /** A network with whole layers. */
    Gpt(int alphabet) {
        this(alphabet, TensorParallel.NONE);
    }

    private Gpt(int alphabet, TensorParallel ranks) {
        characters = register_module("characters", new EmbeddingImpl(alphabet, WIDTH));
        positions = register_module("positions", new EmbeddingImpl(CONTEXT, WIDTH));
        for (int i = 0; i < BLOCKS; i++) {
            blocks.put("block" + i, register_module("block" + i, new Block(ranks)));
        }
        norm = register_module("norm", norm());
        head = register_module("head", new LinearImpl(WIDTH, alphabet));
    }

    private Gpt(Gpt whole, int stage, int stages) {
        boolean first = stage == 0;
        boolean last = stage == stages - 1;
        characters = first ? register_module("characters", whole.characters) : null;
        positions = first ? register_module("positions", whole.positions) : null;
        for (int i = BLOCKS * stage / stages; i < BLOCKS * (stage + 1) / stages; i++) {
            String name = "block" + i;
            blocks.put(name, register_module(name, whole.blocks.get(name)));
        }
        norm = last ? register_module("norm", whole.norm) : null;
        head = last ? register_module("head", whole.head) : null;
    }

    /** Consecutive layers of a network. The number of stages is at most that of the blocks. */
    static Gpt stageOf(Gpt whole, int stage, int stages) {
        return new Gpt(whole, stage, stages);
    }

    /** This rank's part of a network with whole layers. The number of ranks must divide 4. */
    static Gpt partOf(Gpt whole, TensorParallel ranks) {
        Gpt part = new Gpt((int) whole.characters.weight().size(0), ranks);
        part.characters.weight().detach().copy_(whole.characters.weight());
        part.positions.weight().detach().copy_(whole.positions.weight());
        part.head.weight().detach().copy_(whole.head.weight());
        part.head.bias().detach().copy_(whole.head.bias());
        // Norms begin with ones and zeros.
        part.blocks.forEach((name, block) -> block.copyPart(whole.blocks.get(name)));
        return part;
    }

    /** The parameters of which each rank has a part. */
    TensorVector divided() {
        TensorVector divided = new TensorVector();
        blocks.values().forEach(block -> block.addDivided(divided));
        return divided;
    }

    /**
     * Scores of the next character at each position. Of a stage of a pipeline, the output of its
     * layers; its input is that of the stage before.
     */
    Tensor forward(Tensor input, Units units) {
        Tensor x = characters == null ? input : units.run("", () -> embedded(input));
        for (Map.Entry<String, Block> each : blocks.entrySet()) {
            Tensor before = x;
            x = units.run(each.getKey(), () -> each.getValue().forward(before));
        }
        Tensor last = x;
        return head == null ? x : units.run("", () -> head.forward(norm.forward(last)));
    }

    private Tensor embedded(Tensor text) {
        Tensor places = arange(new Scalar(CONTEXT), text.options());
        return characters.forward(text).add(positions.forward(places));
    }
}

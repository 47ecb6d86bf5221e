package org.jccl.examples.pytorch;

import static org.bytedeco.pytorch.global.torch.empty;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.BoolOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorArrayRefOptional;
import org.jccl.ProcessGroup;
import org.jccl.Work;
import org.jccl.pytorch.DistributedDataParallel;
import org.jccl.pytorch.TorchTensors;
import org.jccl.training.GradientReducer;

/**
 * The ranks that share a network by its layers, as in GPipe. Each rank is a stage. A batch goes
 * through the stages in pieces, so that several of them compute at the same time: first all pieces
 * forward, then all of them backward.
 */
final class PipelineParallel {

    private final ProcessGroup group;

    PipelineParallel(ProcessGroup group) {
        this.group = group;
    }

    /** The layers of this rank. */
    interface Stage {
        /**
         * Runs a piece.
         *
         * @param piece its number in the batch
         * @param input of the layers, or null on the first stage
         * @return the output of the layers; on the last stage the piece's part of the loss
         */
        Tensor forward(int piece, Tensor input);
    }

    boolean isFirst() {
        return group.rank() == 0;
    }

    boolean isLast() {
        return group.rank() == group.size() - 1;
    }

    /**
     * Runs a batch and averages the gradients of the copies of this stage.
     *
     * @param shape of the output of a piece on all stages but the last
     * @return the loss on the last stage, 0 on the others
     */
    double step(DistributedDataParallel copies, int pieces, Stage stage, long... shape) {
        Tensor[] inputs = new Tensor[pieces];
        Tensor[] outputs = new Tensor[pieces];
        List<Work> sent = new ArrayList<>();
        double loss = 0;
        for (int i = 0; i < pieces; i++) {
            inputs[i] = isFirst() ? null : received(group.rank() - 1, shape).requires_grad_(true);
            outputs[i] = stage.forward(i, inputs[i]);
            if (isLast()) {
                loss += outputs[i].item_double();
            } else {
                sent.add(send(outputs[i].detach(), group.rank() + 1));
            }
        }
        GradientReducer.NoSync accumulation = copies.noSync();
        for (int i = 0; i < pieces; i++) {
            if (i == pieces - 1) {
                accumulation.close(); // the last pass averages the sum of all
            }
            if (isLast()) {
                outputs[i].backward();
            } else {
                backward(outputs[i], received(group.rank() + 1, shape));
            }
            if (!isFirst()) {
                sent.add(send(inputs[i].grad(), group.rank() - 1));
            }
        }
        copies.finish();
        sent.forEach(Work::await);
        return loss;
    }

    private static void backward(Tensor output, Tensor gradient) {
        output.backward(gradient, new BoolOptional(), false, new TensorArrayRefOptional());
    }

    private Tensor received(int peer, long... shape) {
        Tensor tensor = empty(shape);
        group.sync().recv(TorchTensors.of(tensor), peer);
        return tensor;
    }

    private Work send(Tensor tensor, int peer) {
        return group.send(TorchTensors.of(tensor.contiguous()), peer);
    }
}

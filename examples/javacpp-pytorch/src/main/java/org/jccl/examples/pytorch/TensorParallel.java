package org.jccl.examples.pytorch;

import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorBase;
import org.bytedeco.pytorch.TensorTensorHook;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.pytorch.TorchTensors;

/**
 * The ranks that share each layer of a network, as in Megatron-LM. The first of two layers is
 * divided by its outputs, the second one by its inputs. Each rank computes a part of every sum of
 * the second layer.
 */
final class TensorParallel {

    /** Each rank has whole layers. */
    static final TensorParallel NONE = new TensorParallel(null);

    private final ProcessGroup group;

    /** Must be reachable as long as a graph of PyTorch has it. */
    private final SumOfGradients sumOfGradients = new SumOfGradients().retainReference();

    TensorParallel(ProcessGroup group) {
        this.group = group;
    }

    int size() {
        return group == null ? 1 : group.size();
    }

    int rank() {
        return group == null ? 0 : group.rank();
    }

    /** The input of divided layers. Each rank computes a part of its gradient; they are added. */
    Tensor input(Tensor x) {
        if (group == null || !x.requires_grad()) {
            return x;
        }
        Tensor copy = x.clone();
        copy.register_hook(sumOfGradients);
        return copy;
    }

    /** Adds the parts of all ranks. The gradient of a part is that of the sum. */
    Tensor sum(Tensor part) {
        return group == null ? part : allReduced(part.clone());
    }

    /** In place. Autograd does not track it, so the backward pass is that of the clone. */
    private Tensor allReduced(Tensor tensor) {
        group.allReduce(TorchTensors.of(tensor), ReduceOp.SUM).await();
        return tensor;
    }

    /**
     * Copies this rank's outputs of a layer.
     *
     * @param pieces of the outputs, each of which is divided; 3 for queries, keys and values
     */
    void copyOutputs(LinearImpl whole, LinearImpl part, int pieces) {
        copyOutputs(whole.weight(), part.weight(), pieces);
        copyOutputs(whole.bias(), part.bias(), pieces);
    }

    private void copyOutputs(Tensor whole, Tensor part, int pieces) {
        Tensor ofRank = whole.view(pieces, size(), -1).select(1, rank()).contiguous();
        part.detach().copy_(ofRank.view_as(part));
    }

    /** Copies this rank's inputs of a layer, and the bias, which is added after the sum. */
    void copyInputs(LinearImpl whole, LinearImpl part) {
        Tensor weights = whole.weight();
        Tensor ofRank = weights.view(weights.size(0), size(), -1).select(1, rank());
        part.weight().detach().copy_(ofRank);
        part.bias().detach().copy_(whole.bias());
    }

    private final class SumOfGradients extends TensorTensorHook {
        @Override
        public TensorBase call(TensorBase gradient) {
            try (gradient) {
                return allReduced(new Tensor(gradient).detach().clone());
            }
        }
    }
}

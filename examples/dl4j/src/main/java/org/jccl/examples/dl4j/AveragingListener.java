package org.jccl.examples.dl4j;

import java.util.List;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.training.GradientReducer;
import org.jccl.training.NamedTensor;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * Averages the gradients over the ranks of a group, after the backward pass and before the updater.
 * DL4J has all gradients of a network in one array, so one all_reduce in its memory is enough.
 */
public final class AveragingListener extends BaseTrainingListener {

    private final ProcessGroup group;

    /**
     * Gives all ranks the parameters of rank 0.
     *
     * @param group whose ranks train together
     * @param network initialized, and the same on all ranks except for the values
     */
    public AveragingListener(ProcessGroup group, MultiLayerNetwork network) {
        this.group = group;
        List<NamedTensor> model =
                network.paramTable().entrySet().stream()
                        .map(each -> named(each.getKey(), each.getValue()))
                        .toList();
        GradientReducer.broadcastModel(group, model, 0);
    }

    private static NamedTensor named(String name, INDArray array) {
        return NamedTensor.of(name, Nd4jTensors.of(array), array.shape());
    }

    @Override
    public void onGradientCalculation(Model model) {
        MultiLayerNetwork network = (MultiLayerNetwork) model;
        group.sync().allReduce(Nd4jTensors.of(network.getFlattenedGradients()), ReduceOp.AVG);
    }
}

package org.jccl.training;

import java.util.ArrayList;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;

/** Broadcasts a model in messages of bounded size, because a group may retain memory for them. */
final class ParameterBroadcast {

    private static final long BYTES = 25 << 20;

    private ParameterBroadcast() {}

    static void run(ProcessGroup group, List<Tensor> given, int root) {
        List<Tensor> parameters = checked(group, given);
        List<Tensor> together = new ArrayList<>();
        long bytes = 0;
        for (Tensor parameter : parameters) {
            boolean fits =
                    together.isEmpty()
                            || bytes + parameter.byteSize() <= BYTES
                                    && parameter.dataType() == together.get(0).dataType()
                                    && parameter.device().equals(together.get(0).device());
            if (!fits) {
                group.broadcast(together, root).await();
                together.clear();
                bytes = 0;
            }
            together.add(parameter);
            bytes += parameter.byteSize();
        }
        group.broadcast(together, root).await();
    }

    static void runCompared(ProcessGroup group, List<NamedTensor> model, int root) {
        List<Tensor> tensors =
                model == null ? null : model.stream().map(ParameterBroadcast::tensor).toList();
        checked(group, tensors);
        ModelCheck.requireSame(
                group,
                tensors.get(0).device(),
                model.stream().map(ParameterBroadcast::line).toList(),
                "all ranks must have the same model, with its tensors in the same order");
        run(group, tensors, root);
    }

    private static Tensor tensor(NamedTensor named) {
        return named == null ? null : named.tensor();
    }

    private static String line(NamedTensor named) {
        return "'"
                + named.name().replace('\n', ' ')
                + "' ("
                + named.tensor().dataType()
                + " "
                + named.shape()
                + ")";
    }

    private static List<Tensor> checked(ProcessGroup group, List<Tensor> given) {
        if (group == null) {
            throw new UsageException(FailureContext.NONE, "group is null");
        }
        FailureContext context = FailureContext.ofGroup(group.name(), group.rank());
        if (given == null || given.isEmpty()) {
            throw new UsageException(
                    context, "parameters is " + (given == null ? "null" : "empty"));
        }
        List<Tensor> parameters = new ArrayList<>(given);
        int missing = parameters.indexOf(null);
        if (missing >= 0) {
            throw new UsageException(context, "parameters.get(" + missing + ") is null");
        }
        return parameters;
    }
}

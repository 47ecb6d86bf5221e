package org.jccl.training;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.UsageException;

/**
 * Broadcasts a model in messages of bounded size, because a group may retain memory for them.
 * Tensors that share memory, such as tied weights, are sent once.
 */
final class ParameterBroadcast {

    private static final long BYTES = 25 << 20;

    private ParameterBroadcast() {}

    static void run(ProcessGroup group, List<Tensor> given, int root) {
        List<Tensor> parameters = once(checked(group, given));
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
                lines(group, model),
                "all ranks must have the same model, with its tensors in the same order");
        run(group, tensors, root);
    }

    private static Tensor tensor(NamedTensor named) {
        return named == null ? null : named.tensor();
    }

    /** Returns the tensors without those that share the memory of an earlier one. */
    private static List<Tensor> once(List<Tensor> parameters) {
        List<Tensor> once = new ArrayList<>();
        Set<List<Object>> known = new HashSet<>();
        for (Tensor parameter : parameters) {
            if (parameter.count() == 0 || known.add(memory(parameter))) {
                once.add(parameter);
            }
        }
        return once;
    }

    private static List<Object> memory(Tensor tensor) {
        return List.of(tensor.device(), tensor.address(), tensor.dataType(), tensor.count());
    }

    /**
     * Returns a line for each tensor, with the tensor whose memory it shares. The lines must be the
     * same on all ranks.
     */
    private static List<String> lines(ProcessGroup group, List<NamedTensor> model) {
        requireWholeMemory(group, model);
        Map<List<Object>, String> names = new HashMap<>();
        List<String> lines = new ArrayList<>();
        for (NamedTensor named : model) {
            String first =
                    named.tensor().count() == 0
                            ? null
                            : names.putIfAbsent(memory(named.tensor()), named.name());
            lines.add(
                    line(named)
                            + (first == null
                                    ? ""
                                    : " in the memory of '" + first.replace('\n', ' ') + "'"));
        }
        return lines;
    }

    /** Checks that tensors share all of their memory or none. */
    private static void requireWholeMemory(ProcessGroup group, List<NamedTensor> model) {
        List<NamedTensor> inOrder = new ArrayList<>(model);
        inOrder.removeIf(named -> named.tensor().count() == 0);
        inOrder.sort(
                Comparator.comparing((NamedTensor named) -> named.tensor().device().toString())
                        .thenComparingLong(named -> named.tensor().address()));
        for (int i = 1; i < inOrder.size(); i++) {
            Tensor before = inOrder.get(i - 1).tensor();
            Tensor tensor = inOrder.get(i).tensor();
            if (before.device().equals(tensor.device())
                    && before.address() + before.byteSize() > tensor.address()
                    && !memory(before).equals(memory(tensor))) {
                throw new UsageException(
                        FailureContext.ofGroup(group.name(), group.rank()),
                        "'"
                                + inOrder.get(i - 1).name()
                                + "' and '"
                                + inOrder.get(i).name()
                                + "' overlap in memory; two tensors may share all of their memory,"
                                + " or none");
            }
        }
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

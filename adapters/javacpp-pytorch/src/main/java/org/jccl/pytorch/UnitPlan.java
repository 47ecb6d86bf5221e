package org.jccl.pytorch;

import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.jccl.training.NamedTensor;

/**
 * The tensors of a module: the trained parameters of each unit, and all others.
 *
 * @param units by name; each has a parameter
 * @param untrained by name
 */
record UnitPlan(Map<String, Map<String, Tensor>> units, Map<String, Tensor> untrained) {

    static UnitPlan of(Module module, String... names) {
        if (names == null || names.length == 0) {
            throw TorchTensors.usage("there are no units");
        }
        Map<String, Map<String, Tensor>> units = new LinkedHashMap<>();
        for (String name : names) {
            if (name == null || units.put(name, new LinkedHashMap<>()) != null) {
                throw TorchTensors.usage("unit '" + name + "' is null or appears twice");
            }
        }
        Map<String, Tensor> untrained = new LinkedHashMap<>();
        Map<String, Tensor> tensors = ModelTensors.of(module);
        requireOwnMemory(tensors);
        for (NamedTensor each : ModelTensors.named(tensors)) {
            if (!each.tensor().device().isCpu()) {
                throw TorchTensors.usage(
                        "'"
                                + each.name()
                                + "' is on "
                                + each.tensor().device()
                                + ", not on the CPU");
            }
            Tensor tensor = tensors.get(each.name());
            boolean trained = tensor.requires_grad();
            (trained ? units.get(unitOf(each.name(), units.keySet())) : untrained)
                    .put(each.name(), tensor);
        }
        units.forEach(
                (name, parameters) -> {
                    if (parameters.isEmpty()) {
                        throw TorchTensors.usage("unit '" + name + "' has no trained parameter");
                    }
                });
        return new UnitPlan(units, untrained);
    }

    /** Dividing copies parameters, which separates those in one memory. */
    private static void requireOwnMemory(Map<String, Tensor> tensors) {
        Map<Long, String> known = new HashMap<>();
        tensors.forEach(
                (name, tensor) -> {
                    boolean trained = tensor.requires_grad() && tensor.numel() > 0;
                    String other =
                            trained ? known.putIfAbsent(tensor.data_ptr().address(), name) : null;
                    if (other != null) {
                        throw TorchTensors.usage(
                                "parameters '"
                                        + other
                                        + "' and '"
                                        + name
                                        + "' share memory, which a sharded module cannot preserve:"
                                        + " register one layer under both names, or use"
                                        + " DistributedDataParallel");
                    }
                });
    }

    /** The unit with the longest name that is a module around the parameter. */
    private static String unitOf(String parameter, Set<String> units) {
        return units.stream()
                .filter(unit -> unit.isEmpty() || parameter.startsWith(unit + "."))
                .max(Comparator.comparingInt(String::length))
                .orElseThrow(
                        () ->
                                TorchTensors.usage(
                                        "parameter '"
                                                + parameter
                                                + "' is in no unit of "
                                                + units
                                                + "; add its module, or '' for all others"));
    }

    /** A tensor of as many elements as the largest unit, all of one value. */
    Tensor largestOf(double value) {
        long largest = 0;
        Tensor like = null;
        for (Map<String, Tensor> parameters : units.values()) {
            like = parameters.values().iterator().next();
            largest =
                    Math.max(largest, parameters.values().stream().mapToLong(Tensor::numel).sum());
        }
        try (Scalar scalar = new Scalar(value)) {
            return like.new_full(new long[] {largest}, scalar).set_requires_grad(false);
        }
    }
}

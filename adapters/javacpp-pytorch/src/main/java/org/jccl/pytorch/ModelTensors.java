package org.jccl.pytorch;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItem;
import org.bytedeco.pytorch.Tensor;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.ProcessGroup;
import org.jccl.UsageException;
import org.jccl.training.NamedTensor;

/** The tensors of a model by name, as handles that JCCL owns. */
final class ModelTensors {

    private ModelTensors() {}

    /**
     * The parameters and then the buffers of a module; a tensor with several names has the first.
     */
    static Map<String, Tensor> of(Module module) {
        if (module == null || module.isNull()) {
            throw TorchTensors.usage("module is " + (module == null ? "null" : "closed"));
        }
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Map<Long, String> known = new HashMap<>();
        try (StringTensorDict parameters = module.named_parameters();
                StringTensorDict buffers = module.named_buffers()) {
            add(parameters, tensors, known);
            add(buffers, tensors, known);
        }
        return tensors;
    }

    private static void add(
            StringTensorDict from, Map<String, Tensor> tensors, Map<Long, String> known) {
        for (long i = 0; i < from.size(); i++) {
            StringTensorDictItem item = from.get(i);
            Tensor tensor = item.value();
            String name = item.key().getString();
            if (tensor.defined() && known.putIfAbsent(identity(tensor), name) == null) {
                tensors.put(name, TorchTensors.keep(new Tensor(tensor)));
            }
        }
    }

    /** The tensors that a program lists itself, in which none may appear twice. */
    static Map<String, Tensor> of(Map<String, Tensor> given) {
        if (given == null) {
            throw TorchTensors.usage("parameters is null");
        }
        Map<String, Tensor> tensors = new LinkedHashMap<>();
        Map<Long, String> known = new HashMap<>();
        given.forEach(
                (name, tensor) -> {
                    TorchTensors.requireDefined("parameter '" + name + "'", tensor);
                    String other = known.put(identity(tensor), name);
                    if (other != null) {
                        throw TorchTensors.usage(
                                "parameters '"
                                        + other
                                        + "' and '"
                                        + name
                                        + "' are the same tensor; register what layers share once");
                    }
                    tensors.put(name, TorchTensors.keep(new Tensor(tensor)));
                });
        return tensors;
    }

    /** The tensors as JCCL tensors, with their shapes. */
    static List<NamedTensor> named(Map<String, Tensor> model) {
        List<NamedTensor> named = new ArrayList<>();
        model.forEach(
                (name, tensor) -> {
                    org.jccl.Tensor memory = TorchTensors.of("parameter '" + name + "'", tensor);
                    named.add(NamedTensor.of(name, memory, TorchTensors.shape(tensor)));
                });
        return named;
    }

    /** The device of all tensors. */
    static Device commonDevice(ProcessGroup group, List<NamedTensor> named) {
        Device first = named.isEmpty() ? Device.CPU : named.get(0).tensor().device();
        for (NamedTensor each : named) {
            if (!each.tensor().device().equals(first)) {
                throw new UsageException(
                        FailureContext.ofGroup(group.name(), group.rank()),
                        "'"
                                + each.name()
                                + "' is on "
                                + each.tensor().device()
                                + ", others are on "
                                + first
                                + "; a module must be on one device");
            }
        }
        return first;
    }

    /** The first device that is not the CPU, if there is one. */
    static Device device(Map<String, Tensor> model) {
        return named(model).stream()
                .map(each -> each.tensor().device())
                .filter(device -> !device.isCpu())
                .findFirst()
                .orElse(Device.CPU);
    }

    static long identity(Tensor tensor) {
        return tensor.unsafeGetTensorImpl().address();
    }
}

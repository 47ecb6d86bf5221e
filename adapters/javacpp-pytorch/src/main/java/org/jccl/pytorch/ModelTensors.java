package org.jccl.pytorch;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItem;
import org.bytedeco.pytorch.Tensor;

/** The tensors of a model by name, as handles of our own. */
final class ModelTensors {

    private ModelTensors() {}

    /** Parameters and then buffers of a module; what it has under several names, by the first. */
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

    /** What a program listed by itself, where nothing may be there twice. */
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

    static long identity(Tensor tensor) {
        return tensor.unsafeGetTensorImpl().address();
    }
}

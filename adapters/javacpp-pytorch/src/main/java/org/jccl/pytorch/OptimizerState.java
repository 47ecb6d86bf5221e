package org.jccl.pytorch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jccl.FailureContext;
import org.jccl.training.CheckpointException;

/**
 * The state of an optimizer for each of its parameters. The presets have no access to it, except by
 * PyTorch's archives: a tree with an entry for each parameter, whose name is the address of the
 * tensor. An archive is written to a temporary file and read from there.
 */
final class OptimizerState {

    private static final String STATE = "state";
    private static final String GROUPS = "param_groups";
    private static final String VERSION = "pytorch_version";

    private OptimizerState() {}

    /** Returns tensors and whole numbers of a parameter by their names; none before a step. */
    static Map<String, Object> of(InputArchive archive, Tensor parameter) {
        Map<String, Object> found = new LinkedHashMap<>();
        try (InputArchive all = new InputArchive();
                InputArchive state = new InputArchive()) {
            archive.read(STATE, all);
            if (all.try_read(key(parameter), state)) {
                forEach(
                        state,
                        (name, value) -> {
                            if (value.isTensor()) {
                                // toTensor() is a reference into the value.
                                found.put(name, TorchTensors.keep(new Tensor(value.toTensor())));
                            } else if (value.isInt()) {
                                found.put(name, value.toInt());
                            }
                        });
            }
        }
        return found;
    }

    /** Returns the parameters of all groups. */
    static List<Tensor> parameters(Optimizer optimizer) {
        List<Tensor> all = new ArrayList<>();
        OptimizerParamGroupVector groups = optimizer.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            TensorVector parameters = groups.get(i).params();
            for (long j = 0; j < parameters.size(); j++) {
                all.add(parameters.get(j));
            }
        }
        return all;
    }

    /** Replaces the state of all parameters. The options, such as the learning rate, stay. */
    static void replace(Optimizer optimizer, Map<Tensor, Map<String, Object>> states) {
        try (InputArchive now = archive(optimizer);
                InputArchive groups = new InputArchive();
                IValue version = new IValue();
                OutputArchive changed = new OutputArchive();
                OutputArchive all = new OutputArchive(changed.compilation_unit())) {
            now.read(VERSION, version);
            changed.write(VERSION, version);
            states.forEach(
                    (parameter, state) -> {
                        if (!state.isEmpty()) {
                            write(all, key(parameter), state);
                        }
                    });
            changed.write(STATE, all);
            now.read(GROUPS, groups);
            try (OutputArchive same = copy(groups, changed)) {
                changed.write(GROUPS, same);
            }
            try (InputArchive input = reread(changed)) {
                optimizer.load(input);
            }
        }
    }

    static InputArchive archive(Optimizer optimizer) {
        try (OutputArchive output = new OutputArchive()) {
            optimizer.save(output);
            return reread(output);
        }
    }

    private static String key(Tensor parameter) {
        return Long.toUnsignedString(ModelTensors.identity(parameter));
    }

    private static void write(OutputArchive all, String key, Map<String, Object> state) {
        try (OutputArchive one = new OutputArchive(all.compilation_unit())) {
            state.forEach(
                    (name, value) -> {
                        try (IValue written =
                                value instanceof Tensor tensor
                                        ? new IValue(tensor)
                                        : new IValue((long) value)) {
                            one.write(name, written);
                        }
                    });
            all.write(key, one);
        }
    }

    private static OutputArchive copy(InputArchive from, OutputArchive root) {
        OutputArchive to = new OutputArchive(root.compilation_unit());
        forEach(
                from,
                (name, value) -> {
                    if (value.isModule()) {
                        try (InputArchive nested = new InputArchive()) {
                            from.read(name, nested);
                            try (OutputArchive same = copy(nested, root)) {
                                to.write(name, same);
                            }
                        }
                    } else {
                        to.write(name, value);
                    }
                });
        return to;
    }

    private interface Entry {
        void take(String name, IValue value);
    }

    private static void forEach(InputArchive archive, Entry entry) {
        try (StringVector names = archive.keys()) {
            for (long i = 0; i < names.size(); i++) {
                try (BytePointer name = names.get(i);
                        IValue value = new IValue()) {
                    String text = name.getString();
                    archive.read(text, value);
                    entry.take(text, value);
                }
            }
        }
    }

    private static InputArchive reread(OutputArchive output) {
        Path file = null;
        try {
            file = Files.createTempFile("jccl-optimizer", ".pt");
            output.save_to(file.toString());
            InputArchive input = TorchTensors.keep(new InputArchive());
            input.load_from(file.toString());
            return input;
        } catch (IOException e) {
            throw new CheckpointException(
                    FailureContext.NONE,
                    "the state of the optimizer cannot be written to a temporary file: " + e,
                    e);
        } finally {
            if (file != null) {
                file.toFile().delete();
            }
        }
    }
}

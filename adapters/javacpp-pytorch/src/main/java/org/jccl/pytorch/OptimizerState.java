package org.jccl.pytorch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.OutputArchive;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.Tuple;
import org.jccl.FailureContext;
import org.jccl.training.CheckpointException;

/**
 * The state of an optimizer for each of its parameters, and the options of its groups. The presets
 * have no access to the state, except by PyTorch's archives: a tree with an entry for each
 * parameter, whose name is the address of the tensor. An archive is written to a temporary file and
 * read from there.
 */
final class OptimizerState {

    private static final String STATE = "state";
    private static final String GROUPS = "param_groups";
    private static final String OPTIONS = "options";
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

    /** Returns the parameters of each group. */
    static List<List<Tensor>> groups(Optimizer optimizer) {
        List<List<Tensor>> all = new ArrayList<>();
        OptimizerParamGroupVector groups = optimizer.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            all.add(List.of(groups.get(i).params().get()));
        }
        return all;
    }

    /** Returns the options of each group, such as its learning rate, by their names in PyTorch. */
    static List<Map<String, double[]>> options(InputArchive archive, int count) {
        List<Map<String, double[]>> all = new ArrayList<>();
        try (InputArchive groups = new InputArchive()) {
            archive.read(GROUPS, groups);
            for (int i = 0; i < count; i++) {
                Map<String, double[]> found = new TreeMap<>();
                try (InputArchive one = new InputArchive();
                        InputArchive options = new InputArchive()) {
                    groups.read(group(i), one);
                    one.read(OPTIONS, options);
                    forEach(options, (name, value) -> found.put(name, numbers(name, value)));
                }
                all.add(found);
            }
        }
        return all;
    }

    private static String group(int number) {
        return GROUPS + "/" + number;
    }

    private static double[] numbers(String name, IValue value) {
        if (value.isDouble()) {
            return new double[] {value.toDouble()};
        }
        if (value.isBool()) {
            return new double[] {value.toBool() ? 1 : 0};
        }
        if (value.isTuple()) {
            try (Tuple tuple = value.toTuple()) {
                return IntStream.range(0, (int) tuple.size())
                        .mapToDouble(i -> tuple.elements().get(i).toDouble())
                        .toArray();
            }
        }
        throw TorchTensors.usage(
                "the option '"
                        + name
                        + "' of the optimizer is of type "
                        + value.tagKind().getString()
                        + ", which cannot be saved");
    }

    /** Makes a value of the kind of another one. */
    private static IValue option(IValue kind, double[] numbers) {
        if (kind.isBool()) {
            return new IValue(numbers[0] != 0);
        }
        if (kind.isTuple()) {
            IValue[] all = DoubleStream.of(numbers).mapToObj(IValue::new).toArray(IValue[]::new);
            return new IValue(Tuple.create(new IValueVector(all)));
        }
        return new IValue(numbers[0]);
    }

    /**
     * Replaces the state of all parameters and the options of all groups.
     *
     * @param options of each group, all that {@link #options} returns
     */
    static void replace(
            Optimizer optimizer,
            Map<Tensor, Map<String, Object>> states,
            List<Map<String, double[]>> options) {
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
            Map<String, double[]> paths = new HashMap<>();
            for (int i = 0; i < options.size(); i++) {
                String path = "/" + group(i) + "/" + OPTIONS + "/";
                options.get(i).forEach((name, value) -> paths.put(path + name, value));
            }
            try (OutputArchive copy = copy(groups, changed, "/", paths)) {
                changed.write(GROUPS, copy);
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

    /** Copies a tree, with other options where there are some for a path. */
    private static OutputArchive copy(
            InputArchive from, OutputArchive root, String path, Map<String, double[]> options) {
        OutputArchive to = new OutputArchive(root.compilation_unit());
        forEach(
                from,
                (name, value) -> {
                    double[] option = options.get(path + name);
                    if (value.isModule()) {
                        try (InputArchive nested = new InputArchive()) {
                            from.read(name, nested);
                            try (OutputArchive copy =
                                    copy(nested, root, path + name + "/", options)) {
                                to.write(name, copy);
                            }
                        }
                    } else if (option != null) {
                        try (IValue other = option(value, option)) {
                            to.write(name, other);
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

package org.jccl.training;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/** Checks of names and shapes in files. */
final class Shapes {

    private Shapes() {}

    /** Returns whether a text can be stored: readers reject half of a surrogate pair. */
    static boolean isText(String text) {
        return StandardCharsets.UTF_8.newEncoder().canEncode(text);
    }

    static List<Long> list(long[] shape) {
        return shape == null ? null : Arrays.stream(shape).boxed().toList();
    }

    /** Returns a copy of a valid shape. */
    static List<Long> checked(String name, List<Long> shape) {
        if (name == null || name.isEmpty() || name.startsWith("__") || !isText(name)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "a tensor must have a name that does not begin with __, got " + name);
        }
        if (shape == null || new ArrayList<>(shape).contains(null)) {
            throw new UsageException(
                    FailureContext.NONE, "tensor '" + name + "' has shape " + shape);
        }
        List<Long> copy = List.copyOf(shape);
        try {
            SafetensorsHeader.count(copy);
        } catch (ArithmeticException e) {
            throw new UsageException(
                    FailureContext.NONE,
                    "tensor '" + name + "' has shape " + copy + ": " + e.getMessage(),
                    e);
        }
        return copy;
    }
}

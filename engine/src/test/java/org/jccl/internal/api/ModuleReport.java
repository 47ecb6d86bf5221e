package org.jccl.internal.api;

import org.jccl.ProcessGroup;
import org.jccl.Tensor;

/** A program that says where its API and its engine are. Not in a package of the API's module. */
public final class ModuleReport {

    private ModuleReport() {}

    /**
     * Starts the program.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        // Uses a package that the API shares with its engine.
        ProcessGroup.builder().backend("none");
        try (Tensor tensor = Tensor.copyOf(new float[] {1})) {
            System.out.printf(
                    "%s, %s, %s%n",
                    tensor, tensor.getClass().getModule().isNamed(), Tensor.class.getModule());
        }
    }
}

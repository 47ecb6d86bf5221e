package org.jccl.internal.checks;

import org.jccl.FailureContext;
import org.jccl.UsageException;

/** Checks of arguments. */
public final class Require {

    private Require() {}

    /**
     * Returns an argument that must not be null.
     *
     * @param name what messages call it
     * @throws UsageException if it is null
     */
    public static <T> T nonNull(T value, String name) {
        if (value == null) {
            throw new UsageException(FailureContext.NONE, name + " is null");
        }
        return value;
    }
}

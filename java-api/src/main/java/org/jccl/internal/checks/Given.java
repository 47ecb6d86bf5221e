package org.jccl.internal.checks;

import org.jccl.FailureContext;
import org.jccl.UsageException;

/** What every argument must be. */
public final class Given {

    private Given() {}

    /**
     * Checks that an argument is there.
     *
     * @param <T> its type
     * @param value the argument
     * @param name what messages call it
     * @return the argument
     * @throws UsageException when it is null
     */
    public static <T> T notNull(T value, String name) {
        if (value == null) {
            throw new UsageException(FailureContext.NONE, name + " is null");
        }
        return value;
    }
}

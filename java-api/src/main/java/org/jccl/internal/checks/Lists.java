package org.jccl.internal.checks;

import java.util.Arrays;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Copies the lists of callers. Another thread may change a list meanwhile, so what is checked must
 * be a copy, and the copy must be what is used.
 */
public final class Lists {

    private Lists() {}

    /**
     * Copies a list, which may contain nulls.
     *
     * @param none an empty array of the element type
     * @param name what messages call the list
     * @return the copy, or null for null
     * @throws UsageException if the list cannot be read, or contains elements of another type
     */
    public static <T> List<T> copy(List<T> list, T[] none, FailureContext where, String name) {
        if (list == null) {
            return null;
        }
        try {
            return Arrays.asList(list.toArray(none));
        } catch (RuntimeException e) {
            throw new UsageException(
                    where,
                    "%s cannot be read as a list of %s: %s"
                            .formatted(name, none.getClass().getComponentType().getSimpleName(), e),
                    e);
        }
    }
}

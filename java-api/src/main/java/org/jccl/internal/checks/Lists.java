package org.jccl.internal.checks;

import java.util.Arrays;
import java.util.List;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Reads callers' lists once. What is checked must be what is used, also when another thread changes
 * the list meanwhile.
 */
public final class Lists {

    private Lists() {}

    /**
     * Copies a list, nulls in it too.
     *
     * @param <T> the elements' type
     * @param list may be null
     * @param none an empty array, which tells the elements' type
     * @param where context of the failure
     * @param name what messages call the list
     * @return null for null
     * @throws UsageException when the list can not be read, or holds something else
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
                    "%s can not be read as a list of %s: %s"
                            .formatted(name, none.getClass().getComponentType().getSimpleName(), e),
                    e);
        }
    }
}

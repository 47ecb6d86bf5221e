package org.jccl;

import java.util.Arrays;
import java.util.List;

/**
 * Reads callers' lists once. What is checked must be what is used, also when another thread changes
 * the list meanwhile.
 */
final class Lists {

    private Lists() {}

    /**
     * Copies a list, nulls in it too.
     *
     * @param list may be null
     * @param none an empty array, which tells the elements' type
     * @return null for null
     * @throws UsageException when the list can not be read, or holds something else
     */
    static <T> List<T> copy(List<T> list, T[] none, FailureContext where, String name) {
        if (list == null) {
            return null;
        }
        try {
            return Arrays.asList(list.toArray(none));
        } catch (RuntimeException e) {
            throw new UsageException(
                    where,
                    name
                            + " can not be read as a list of "
                            + none.getClass().getComponentType().getSimpleName()
                            + ": "
                            + e,
                    e);
        }
    }
}

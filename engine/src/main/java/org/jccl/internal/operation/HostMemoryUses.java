package org.jccl.internal.operation;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.jccl.FailureContext;

/**
 * Finds the operation in flight that uses a range of host memory. A tensor belongs to no group, so
 * all groups of the process are asked.
 */
public final class HostMemoryUses {

    /** The operations of one group. */
    public interface Group {

        /**
         * Returns where the range is used, or null.
         *
         * @param start of the range
         * @param end of the range, exclusive
         * @param writes whether the range is to be written; it is read otherwise
         * @param size the number of ranks of the group
         */
        FailureContext collision(long start, long end, boolean writes, int size);
    }

    /** Groups and their sizes. Weak, because a program may forget to close a group. */
    private static final Map<Group, Integer> GROUPS =
            Collections.synchronizedMap(new WeakHashMap<>());

    private HostMemoryUses() {}

    /** Asks this group too from now on. */
    public static void add(Group group, int size) {
        GROUPS.put(group, size);
    }

    /** Returns where a range is used, or null. */
    public static FailureContext find(long start, long end, boolean writes) {
        for (Map.Entry<Group, Integer> each : Map.copyOf(GROUPS).entrySet()) {
            FailureContext found = each.getKey().collision(start, end, writes, each.getValue());
            if (found != null) {
                return found;
            }
        }
        return null;
    }
}

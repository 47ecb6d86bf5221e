package org.jccl.internal.operation;

import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.jccl.Device;
import org.jccl.FailureContext;

/**
 * Finds the operation in flight that uses a range of memory, and that the calling thread has not
 * waited for. A tensor belongs to no group, so all groups of the process on its device are asked.
 */
public final class MemoryUses {

    /** The operations of one group on one device. */
    public interface Group {

        /**
         * Returns where the range is used by an operation that is neither complete nor before the
         * end of the calling thread's current stream; or null.
         *
         * @param start of the range
         * @param end of the range, exclusive
         * @param writes whether the range is to be written; it is read otherwise
         * @param size the number of ranks of the group
         */
        FailureContext collision(long start, long end, boolean writes, int size);
    }

    private record Place(Device device, int size) {}

    /** Weak, because a program may forget to close a group. */
    private static final Map<Group, Place> GROUPS =
            Collections.synchronizedMap(new WeakHashMap<>());

    private MemoryUses() {}

    /** Asks this group too from now on. */
    public static void add(Group group, Device device, int size) {
        GROUPS.put(group, new Place(device, size));
    }

    /** Returns where a range of memory of a device is used, or null. */
    public static FailureContext find(Device device, long start, long end, boolean writes) {
        for (Map.Entry<Group, Place> each : Map.copyOf(GROUPS).entrySet()) {
            Place place = each.getValue();
            FailureContext found =
                    place.device().equals(device)
                            ? each.getKey().collision(start, end, writes, place.size())
                            : null;
            if (found != null) {
                return found;
            }
        }
        return null;
    }
}

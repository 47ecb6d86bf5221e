package org.jccl.internal.device;

import java.util.function.Predicate;

/**
 * The works on a communication stream, in the order in which they end. If one has passed its end
 * event, so have all before it, so few events are queried.
 */
final class WorkRing {

    private static final DeviceWork[] NONE = {};

    /** Guards everything here; the operations begin and are numbered under the same. */
    private final Object monitor;

    private DeviceWork[] ring = new DeviceWork[64];
    private long first;
    private long next;

    WorkRing(Object monitor) {
        this.monitor = monitor;
    }

    /** Appends a work and returns its place. The caller has the monitor. */
    long add(DeviceWork work) {
        if (next - first == ring.length) {
            DeviceWork[] grown = new DeviceWork[2 * ring.length];
            for (long place = first; place < next; place++) {
                grown[(int) (place & grown.length - 1)] = ring[slot(place)];
            }
            ring = grown;
        }
        ring[slot(next)] = work;
        return next++;
    }

    /**
     * Takes off all works up to the newest that has passed. Queries the newest first: if the device
     * keeps up, that is the only query.
     */
    DeviceWork[] takePassed(Predicate<DeviceWork> hasPassed) {
        long low;
        long high;
        synchronized (monitor) {
            low = first;
            high = next;
        }
        long asked = high - 1;
        while (low < high) {
            DeviceWork work = at(asked);
            if (work == null || hasPassed.test(work)) {
                low = asked + 1;
            } else {
                high = asked;
            }
            asked = (low + high) >>> 1;
        }
        return takeBefore(low);
    }

    /** The works that were not taken off, from the oldest on. */
    DeviceWork[] list() {
        synchronized (monitor) {
            if (next == first) {
                return NONE;
            }
            DeviceWork[] all = new DeviceWork[(int) (next - first)];
            for (int i = 0; i < all.length; i++) {
                all[i] = ring[slot(first + i)];
            }
            return all;
        }
    }

    /** Takes off all works that the library has. */
    DeviceWork[] takeIssued() {
        return takePassed(DeviceWork::isIssued);
    }

    /** The work at a place, or null if another thread took it off. */
    private DeviceWork at(long place) {
        synchronized (monitor) {
            return place < first ? null : ring[slot(place)];
        }
    }

    private DeviceWork[] takeBefore(long end) {
        synchronized (monitor) {
            if (end <= first) {
                return NONE;
            }
            DeviceWork[] taken = new DeviceWork[(int) (end - first)];
            for (int i = 0; i < taken.length; i++) {
                int slot = slot(first++);
                taken[i] = ring[slot];
                ring[slot] = null;
            }
            return taken;
        }
    }

    private int slot(long place) {
        return (int) (place & ring.length - 1);
    }
}

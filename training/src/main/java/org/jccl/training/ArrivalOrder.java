package org.jccl.training;

import org.jccl.Device;
import org.jccl.ProcessGroup;

/**
 * The order in which gradients became ready in a step on this rank. Guarded by the reducer's lock.
 */
final class ArrivalOrder {

    private final int[] indices;
    private int count;

    ArrivalOrder(int gradients) {
        indices = new int[gradients];
    }

    void add(int index) {
        indices[count++] = index;
    }

    void clear() {
        count = 0;
    }

    /**
     * Returns all gradients: first those that became ready, then the others in reverse order of
     * registration, which is approximately the order of a backward pass.
     */
    int[] complete() {
        boolean[] present = new boolean[indices.length];
        for (int i = 0; i < count; i++) {
            present[indices[i]] = true;
        }
        int[] order = indices.clone();
        int next = count;
        for (int i = order.length - 1; i >= 0; i--) {
            if (!present[i]) {
                order[next++] = i;
            }
        }
        return order;
    }

    /** Returns rank 0's order, on all ranks. */
    int[] completeOnRank0(ProcessGroup group, Device device) {
        return ModelCheck.broadcast(group, device, complete(), 0);
    }
}

package org.jccl.internal.device.failures;

import java.util.ArrayList;
import java.util.List;
import org.jccl.JcclException;
import org.jccl.internal.engine.GroupFailure;

/**
 * What happens before a point on a stream: of each {@link Timeline} the number of the newest
 * operation. Operations that have succeeded are removed, so it is short. Guarded by its owner.
 */
final class VectorClock {

    /** The number of an operation that a graph repeats, so that it never has ended. */
    static final long REPEATED = Long.MAX_VALUE;

    /** The operations of a timeline, up to a number. */
    private static final class Component {

        private final Timeline timeline;
        private long number;

        /** Whether the program knows that the operation failed. */
        private boolean reported;

        Component(Timeline timeline, long number) {
            this.timeline = timeline;
            this.number = number;
        }

        Component copy() {
            Component copy = new Component(timeline, number);
            copy.reported = reported;
            return copy;
        }

        GroupFailure group() {
            return timeline.group();
        }

        boolean isOver() {
            return timeline.hasSucceeded(number) || reported && group().isOver();
        }
    }

    private final List<Component> components = new ArrayList<>(2);

    VectorClock copy() {
        VectorClock copy = new VectorClock();
        components.forEach(each -> copy.components.add(each.copy()));
        return copy;
    }

    /** Whether the operation of a timeline with a number happens before, and was not removed. */
    boolean has(Timeline timeline, long number) {
        for (int i = 0; i < components.size(); i++) {
            Component each = components.get(i);
            if (each.timeline == timeline) {
                return each.number >= number;
            }
        }
        return false;
    }

    boolean isEmpty() {
        return components.isEmpty();
    }

    void add(Timeline timeline, long number) {
        for (int i = 0; i < components.size(); i++) {
            Component known = components.get(i);
            if (known.timeline == timeline) {
                known.number = Math.max(known.number, number);
                return;
            }
        }
        removeEnded();
        components.add(new Component(timeline, number));
    }

    /** Takes the maximum of both clocks. */
    void merge(VectorClock other) {
        for (Component each : other.components) {
            if (!each.isOver()) {
                add(each.timeline, each.number);
            }
        }
    }

    /** The same, without operations of one group, and without failures that were reported. */
    void mergeUnreported(VectorClock other, GroupFailure own) {
        for (int i = 0; i < other.components.size(); i++) {
            Component each = other.components.get(i);
            if (each.group() != own && !each.reported && !each.isOver()) {
                add(each.timeline, each.number);
            }
        }
    }

    /**
     * Removes operations that have succeeded, and failures that the program knew when it closed or
     * replaced the group.
     */
    void removeEnded() {
        components.removeIf(Component::isOver);
    }

    /** Asks the libraries of all groups for asynchronous errors. */
    void askLibraries() {
        components.forEach(each -> each.group().pollAsyncError());
    }

    /** All operations have ended. */
    void ended() {
        for (Component each : components) {
            if (each.number != REPEATED) {
                each.timeline.ended(each.number);
            }
        }
    }

    /**
     * Returns the first failure, or null; the caller must report it to the program now. It stands
     * for the failures of all groups that are over, so that a program that continues with new
     * groups waits once for each stream.
     *
     * @param again whether failures count that were reported before
     * @param other a failure that is reported anyway, which is first then; or null
     */
    JcclException report(boolean again, JcclException other) {
        JcclException first = other;
        for (int i = 0; i < components.size(); i++) {
            Component each = components.get(i);
            JcclException failure = each.timeline.failureOf(each.number);
            if (failure != null && (again ? !each.isOver() : !each.reported)) {
                if (first == null || each.group().isOver()) {
                    reported(each.group());
                }
                first = first == null ? failure : first;
            }
        }
        return first;
    }

    /** The failure of a group was reported to the program. */
    void reported(GroupFailure group) {
        for (Component each : components) {
            each.reported |= each.group() == group;
        }
    }

    /** Whether an operation of a group is here that has not succeeded. */
    boolean has(GroupFailure group) {
        return components.stream()
                .anyMatch(
                        each -> each.group() == group && !each.timeline.hasSucceeded(each.number));
    }
}

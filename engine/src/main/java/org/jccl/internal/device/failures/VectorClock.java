package org.jccl.internal.device.failures;

import java.util.Arrays;
import org.jccl.JcclException;
import org.jccl.internal.engine.GroupFailure;

/**
 * What happens before a point on a stream: of each {@link Timeline} the number of the newest
 * operation. Operations that have succeeded are removed, so it is short. Guarded by its owner.
 */
final class VectorClock {

    /** The number of an operation that a graph repeats, so that it never has ended. */
    static final long REPEATED = Long.MAX_VALUE;

    private Timeline[] timelines = new Timeline[2];
    private long[] numbers = new long[2];

    /** Whether the program knows that the operation failed. */
    private boolean[] reported = new boolean[2];

    private int count;

    VectorClock() {}

    private VectorClock(VectorClock other) {
        timelines = other.timelines.clone();
        numbers = other.numbers.clone();
        reported = other.reported.clone();
        count = other.count;
    }

    VectorClock copy() {
        return new VectorClock(this);
    }

    boolean isEmpty() {
        return count == 0;
    }

    void add(Timeline timeline, long number) {
        for (int i = 0; i < count; i++) {
            if (timelines[i] == timeline) {
                numbers[i] = Math.max(numbers[i], number);
                return;
            }
        }
        removeEnded();
        if (count == timelines.length) {
            timelines = Arrays.copyOf(timelines, 2 * count);
            numbers = Arrays.copyOf(numbers, 2 * count);
            reported = Arrays.copyOf(reported, 2 * count);
        }
        timelines[count] = timeline;
        numbers[count] = number;
        reported[count] = false;
        count++;
    }

    /** Takes the maximum of both clocks. */
    void merge(VectorClock other) {
        for (int i = 0; i < other.count; i++) {
            if (!other.isOver(i)) {
                add(other.timelines[i], other.numbers[i]);
            }
        }
    }

    /** The same, without operations of one group, and without failures that were reported. */
    void mergeUnreported(VectorClock other, GroupFailure own) {
        for (int i = 0; i < other.count; i++) {
            if (other.timelines[i].group() != own && !other.reported[i] && !other.isOver(i)) {
                add(other.timelines[i], other.numbers[i]);
            }
        }
    }

    /**
     * Removes operations that have succeeded, and failures that the program knew when it closed or
     * replaced the group.
     */
    void removeEnded() {
        int kept = 0;
        for (int i = 0; i < count; i++) {
            if (!isOver(i)) {
                timelines[kept] = timelines[i];
                numbers[kept] = numbers[i];
                reported[kept] = reported[i];
                kept++;
            }
        }
        Arrays.fill(timelines, kept, count, null);
        count = kept;
    }

    private boolean isOver(int i) {
        return timelines[i].hasSucceeded(numbers[i])
                || reported[i] && timelines[i].group().isOver();
    }

    /** Asks the libraries of all groups for asynchronous errors. */
    void askLibraries() {
        for (int i = 0; i < count; i++) {
            timelines[i].group().pollAsyncError();
        }
    }

    /** All operations have ended. */
    void ended() {
        for (int i = 0; i < count; i++) {
            if (numbers[i] != REPEATED) {
                timelines[i].ended(numbers[i]);
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
        for (int i = 0; i < count; i++) {
            GroupFailure group = timelines[i].group();
            JcclException failure = timelines[i].failureOf(numbers[i]);
            if (failure != null && (again ? !isOver(i) : !reported[i])) {
                if (first == null || group.isOver()) {
                    reported(group);
                }
                first = first == null ? failure : first;
            }
        }
        return first;
    }

    /** The failure of a group was reported to the program. */
    void reported(GroupFailure group) {
        for (int i = 0; i < count; i++) {
            reported[i] |= timelines[i].group() == group;
        }
    }

    /** Whether an operation of a group is here that has not succeeded. */
    boolean has(GroupFailure group) {
        for (int i = 0; i < count; i++) {
            if (timelines[i].group() == group && !timelines[i].hasSucceeded(numbers[i])) {
                return true;
            }
        }
        return false;
    }
}

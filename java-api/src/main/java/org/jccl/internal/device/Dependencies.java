package org.jccl.internal.device;

import java.util.Arrays;
import org.jccl.JcclException;
import org.jccl.internal.engine.GroupFailure;

/**
 * What a stream or an event waits for: of each {@link Lane} the newest number. What has ended well
 * is forgotten, so it is short. Guarded by its owner.
 */
public final class Dependencies {

    /** The number of what a graph runs again and again, so that it never has ended. */
    static final long EACH_TIME = Long.MAX_VALUE;

    private Lane[] lanes = new Lane[2];
    private long[] numbers = new long[2];

    /** Whether the program has been told that it failed. */
    private boolean[] told = new boolean[2];

    private int count;

    Dependencies() {}

    private Dependencies(Dependencies other) {
        lanes = other.lanes.clone();
        numbers = other.numbers.clone();
        told = other.told.clone();
        count = other.count;
    }

    Dependencies copy() {
        return new Dependencies(this);
    }

    boolean isEmpty() {
        return count == 0;
    }

    void add(Lane lane, long number) {
        for (int i = 0; i < count; i++) {
            if (lanes[i] == lane) {
                numbers[i] = Math.max(numbers[i], number);
                return;
            }
        }
        forgetEnded();
        if (count == lanes.length) {
            lanes = Arrays.copyOf(lanes, 2 * count);
            numbers = Arrays.copyOf(numbers, 2 * count);
            told = Arrays.copyOf(told, 2 * count);
        }
        lanes[count] = lane;
        numbers[count] = number;
        told[count] = false;
        count++;
    }

    void addAll(Dependencies other) {
        for (int i = 0; i < other.count; i++) {
            if (!other.isOver(i)) {
                add(other.lanes[i], other.numbers[i]);
            }
        }
    }

    /**
     * Adds what an operation of a group is issued after, but for its own group's, and for what the
     * program has been told of before it issued the operation.
     */
    void addUntold(Dependencies other, GroupFailure own) {
        for (int i = 0; i < other.count; i++) {
            if (other.lanes[i].group() != own && !other.told[i] && !other.isOver(i)) {
                add(other.lanes[i], other.numbers[i]);
            }
        }
    }

    /**
     * Forgets what ended well, and failures that the program knew when it closed or replaced the
     * group.
     */
    void forgetEnded() {
        int kept = 0;
        for (int i = 0; i < count; i++) {
            if (!isOver(i)) {
                lanes[kept] = lanes[i];
                numbers[kept] = numbers[i];
                told[kept] = told[i];
                kept++;
            }
        }
        Arrays.fill(lanes, kept, count, null);
        count = kept;
    }

    private boolean isOver(int i) {
        return lanes[i].hasEndedWell(numbers[i]) || told[i] && lanes[i].group().isOver();
    }

    /** Asks the libraries of all groups for failures that they noticed by themselves. */
    void askLibraries() {
        for (int i = 0; i < count; i++) {
            lanes[i].group().askLibrary();
        }
    }

    /** All of it has ended. */
    void ended() {
        for (int i = 0; i < count; i++) {
            if (numbers[i] != EACH_TIME) {
                lanes[i].ended(numbers[i]);
            }
        }
    }

    /**
     * The first failure, or null. The program must be told of it now. It stands for those of all
     * groups that are over: a program that goes on with new ones waits once for each stream.
     *
     * @param again whether those count that it has been told of before
     * @param other what the program is told of anyway, which is first then; or null
     */
    JcclException tellFailure(boolean again, JcclException other) {
        JcclException first = other;
        for (int i = 0; i < count; i++) {
            GroupFailure group = lanes[i].group();
            JcclException failure = lanes[i].failureOf(numbers[i]);
            if (failure != null && (again ? !isOver(i) : !told[i])) {
                if (first == null || group.isOver()) {
                    told(group);
                }
                first = first == null ? failure : first;
            }
        }
        return first;
    }

    /** The program has been told of a group's failure. */
    void told(GroupFailure group) {
        for (int i = 0; i < count; i++) {
            told[i] |= lanes[i].group() == group;
        }
    }

    /** Whether anything of a group is here that has not ended well. */
    boolean has(GroupFailure group) {
        for (int i = 0; i < count; i++) {
            if (lanes[i].group() == group && !lanes[i].hasEndedWell(numbers[i])) {
                return true;
            }
        }
        return false;
    }
}

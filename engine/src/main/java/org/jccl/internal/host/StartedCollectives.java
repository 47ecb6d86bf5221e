package org.jccl.internal.host;

import java.util.ArrayDeque;

/**
 * The collectives that a library has begun and not ended, so that it never has too many: one looks
 * at all of them each time it is asked about any, and another ends the process when it has tens of
 * thousands. Used under the queue lock.
 */
final class StartedCollectives {

    static final int MOST = 128;

    private final ArrayDeque<HostWork> started = new ArrayDeque<>();

    void add(HostWork work) {
        started.add(work);
    }

    boolean isFull() {
        if (started.size() >= MOST) {
            started.removeIf(HostWork::isDone);
        }
        return started.size() >= MOST;
    }

    /** The one that was begun first. */
    HostWork oldest() {
        return started.peek();
    }
}

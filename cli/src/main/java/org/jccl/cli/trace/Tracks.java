package org.jccl.cli.trace;

import java.util.ArrayList;
import java.util.List;

/** Puts operations that overlap beside each other, since viewers draw them wrongly in one lane. */
final class Tracks {

    private final List<Long> busyUntil = new ArrayList<>();

    /** The first lane that is free from a span's start on; given in the order of their starts. */
    int place(Recording.Span span) {
        int lane = 0;
        while (lane < busyUntil.size() && busyUntil.get(lane) > span.startNanos()) {
            lane++;
        }
        if (lane == busyUntil.size()) {
            busyUntil.add(0L);
        }
        busyUntil.set(lane, span.endNanos());
        return lane;
    }

    int count() {
        return busyUntil.size();
    }
}

package org.jccl.cli.trace;

import java.util.ArrayList;
import java.util.List;

/**
 * Assigns operations that overlap to different tracks, because viewers draw them wrongly in one.
 */
final class Tracks {

    private final List<Long> busyUntil = new ArrayList<>();

    /**
     * The first track that is free at the start of a span. Spans must come in the order of starts.
     */
    int place(Recording.Span span) {
        int track = 0;
        while (track < busyUntil.size() && busyUntil.get(track) > span.startNanos()) {
            track++;
        }
        if (track == busyUntil.size()) {
            busyUntil.add(0L);
        }
        busyUntil.set(track, span.endNanos());
        return track;
    }

    int count() {
        return busyUntil.size();
    }
}

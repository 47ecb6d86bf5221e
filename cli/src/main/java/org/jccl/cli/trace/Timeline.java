package org.jccl.cli.trace;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What was recorded, and what follows from it.
 *
 * @param recordings by the clock of the first rank
 * @param ahead by how many nanoseconds each rank's clock was proven to be ahead of that
 * @param collectives by their time
 * @param steps what the program repeated
 * @param ranks what each rank spent its time with
 */
record Timeline(
        List<Recording> recordings,
        Map<Integer, Long> ahead,
        List<TracedCollective> collectives,
        List<Step> steps,
        List<RankSummary> ranks) {

    /**
     * Draws the conclusions.
     *
     * @param read as the files have them
     * @param stepBeginning part of the text of the collective that a step begins with; empty to
     *     find it
     */
    static Timeline of(List<Recording> read, String stepBeginning) {
        Map<Integer, Long> ahead = Clocks.ahead(read);
        List<Recording> recordings = Clocks.corrected(read, ahead);
        List<TracedCollective> collectives = TracedCollective.of(recordings);
        return new Timeline(
                recordings,
                ahead,
                collectives,
                Step.of(collectives, stepBeginning),
                RankSummary.of(recordings, collectives));
    }

    /** The members of the recorded groups that have no recording at all. */
    List<Integer> unrecorded() {
        Set<Integer> ranks = new TreeSet<>();
        recordings.forEach(each -> ranks.addAll(each.members()));
        recordings.forEach(each -> ranks.remove(each.rank()));
        return List.copyOf(ranks);
    }

    /** When the first operation began, since 1970. */
    long originNanos() {
        return recordings.stream()
                .flatMap(recording -> recording.spans().stream())
                .mapToLong(Recording.Span::startNanos)
                .min()
                .orElse(0);
    }
}

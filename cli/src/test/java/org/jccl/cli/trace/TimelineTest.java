package org.jccl.cli.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.cli.trace.Recordings.ALL_REDUCE;
import static org.jccl.cli.trace.Recordings.blocked;
import static org.jccl.cli.trace.Recordings.recording;
import static org.jccl.cli.trace.Recordings.span;
import static org.jccl.cli.trace.Recordings.stuck;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What follows from recordings. */
final class TimelineTest {

    private static Timeline timeline(Recording... recordings) {
        return Timeline.of(List.of(recordings), "");
    }

    @Test
    void theLastToComeIsTheOneThatIsWaitedFor() {
        Timeline timeline =
                timeline(
                        recording(0, 3, span(ALL_REDUCE, 0, 100, 340)),
                        recording(1, 3, span(ALL_REDUCE, 0, 300, 350)),
                        recording(2, 3, span(ALL_REDUCE, 0, 250, 345)));
        TracedCollective only = timeline.collectives().get(0);
        assertThat(only.allWaitForLast()).isTrue();
        assertThat(only.lastRank()).isEqualTo(1);
        assertThat(only.waitedNanos()).isEqualTo(200_000);
        assertThat(timeline.ranks())
                .extracting(RankSummary::waitedNanos)
                .containsExactly(200_000L, 0L, 50_000L);
        assertThat(timeline.ranks()).extracting(RankSummary::last).containsExactly(0, 1, 0);
        assertThat(timeline.ranks())
                .extracting(RankSummary::waitedForNanos)
                .containsExactly(0L, 200_000L, 0L);
        assertThat(timeline.ahead()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "allReduce(float32 x 8, SUM) | true",
                "barrier() | true",
                "allGather(float32 x 8) | true",
                "reduceScatter(float32 x 8, SUM) | true",
                "allToAll(float32 x 8) | true",
                "allReduce(float32 x 0, SUM) | false",
                "allGather(float32 x [0, 8]) | false",
                "allToAll with splits(float32) | false",
                "broadcast(float32 x 8, root 0) | false",
                "reduce(float32 x 8, SUM, root 0) | false",
                "gather(float32 x 8, root 0) | false",
                "scatter(float32 x 8, root 0) | false",
            })
    void onlyWhereAllNeedAllTheLastIsWaitedFor(String name, boolean waits) {
        Timeline timeline =
                timeline(
                        recording(0, 2, span(name, 0, 100, 340)),
                        recording(1, 2, span(name, 0, 300, 350)));
        assertThat(timeline.collectives().get(0).allWaitForLast()).isEqualTo(waits);
        assertThat(timeline.ranks().get(1).last()).isEqualTo(waits ? 1 : 0);
    }

    @Test
    void onDevicesNobodyIsSeenToWait() {
        List<Recording> recordings = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            recordings.add(
                    new Recording(
                            rank,
                            "world (test)",
                            List.of(0, 1),
                            9,
                            "",
                            List.of(span(ALL_REDUCE, 0, 100 + 50 * rank, 200)),
                            List.of(),
                            true));
        }
        assertThat(Timeline.of(recordings, "").collectives().get(0).allWaitForLast()).isFalse();
    }

    @Test
    void aRankThatHasNotComeIsNamed() {
        Timeline timeline =
                timeline(
                        recording(0, 4, span(ALL_REDUCE, 4, 1, 9), stuck("barrier()", 5, 10, 500)),
                        recording(1, 4, span(ALL_REDUCE, 4, 2, 9)),
                        // Its first operations are no longer kept.
                        recording(2, 4, stuck("barrier()", 6, 11, 500)));
        TracedCollective barrier = timeline.collectives().get(1);
        assertThat(barrier.sequence()).isEqualTo(5);
        // Rank 3 has recorded nothing.
        assertThat(barrier.missing()).containsExactly(1, 3);
        assertThat(barrier.allWaitForLast()).isFalse();
        assertThat(timeline.collectives().get(0).missing()).isEmpty();
    }

    @Test
    void clocksThatDifferAreFoundAndPutRight() {
        // In truth both came at 100 and 110 and ended at 130; rank 1's clock is 500 ahead.
        Timeline timeline =
                timeline(
                        recording(
                                0, 2, span(ALL_REDUCE, 0, 100, 130), span(ALL_REDUCE, 1, 200, 230)),
                        recording(
                                1,
                                2,
                                span(ALL_REDUCE, 0, 610, 630),
                                span(ALL_REDUCE, 1, 695, 730)));
        // Rank 1 came at most at 130 by rank 0's clock, which makes 480 or more; and so on.
        assertThat(timeline.ahead()).containsOnlyKeys(1);
        assertThat(timeline.ahead().get(1)).isBetween(480_000L, 530_000L);
        assertThat(timeline.collectives().get(0).waitedNanos()).isLessThan(30_000);
        assertThat(timeline.recordings().get(1).spans().get(0).startNanos())
                .isEqualTo(610_000 - timeline.ahead().get(1));
    }

    @Test
    void clocksAreComparedFromRankToRank() {
        Recording one = recording(0, 2, span(ALL_REDUCE, 0, 100, 130));
        Recording two = recording(1, 2, span(ALL_REDUCE, 0, 5100, 5130));
        Recording otherGroup =
                new Recording(
                        1,
                        "pair (test)",
                        List.of(1, 2),
                        9,
                        "",
                        List.of(span("barrier()", 0, 5200, 5230)),
                        List.of(),
                        false);
        Recording third =
                new Recording(
                        2,
                        "pair (test)",
                        List.of(1, 2),
                        9,
                        "",
                        List.of(span("barrier()", 0, 200, 230)),
                        List.of(),
                        false);
        Map<Integer, Long> ahead = Clocks.ahead(List.of(one, two, otherGroup, third));
        assertThat(ahead.get(1)).isBetween(4_970_000L, 5_030_000L);
        assertThat(ahead.getOrDefault(2, 0L)).isBetween(-60_000L, 60_000L);
    }

    @Test
    void aLateRankIsNoWrongClock() {
        Timeline timeline =
                timeline(
                        recording(0, 2, span(ALL_REDUCE, 0, 100, 90_030)),
                        recording(1, 2, span(ALL_REDUCE, 0, 90_000, 90_040)));
        assertThat(timeline.ahead()).isEmpty();
        assertThat(timeline.ranks().get(1).waitedForNanos()).isEqualTo(89_900_000);
    }

    @Test
    void stepsBeginWithWhatComesOnceInEach() {
        List<Recording.Span> first = new ArrayList<>();
        List<Recording.Span> second = new ArrayList<>();
        int sequence = 0;
        for (int step = 0; step < 10; step++) {
            // The bucket of x 9 comes twice in a step; the loss only now and then.
            long start = 1000L * step;
            for (String name : List.of("x 7", "x 9", "x 9")) {
                String text = "allReduce(float32 " + name + ", AVG)";
                boolean slow = step == 4 && name.equals("x 9");
                first.add(span(text, sequence, start, start + 60));
                second.add(span(text, sequence, start + (slow ? 50 : 0), start + 60));
                sequence++;
                start += 100;
            }
            if (step % 5 == 4) {
                first.add(span("allReduce(float64 x 1, SUM)", sequence, start, start + 60));
                second.add(span("allReduce(float64 x 1, SUM)", sequence, start, start + 60));
                sequence++;
            }
        }
        List<Recording> recordings =
                List.of(
                        recording(0, 2, first.toArray(Recording.Span[]::new)),
                        recording(1, 2, second.toArray(Recording.Span[]::new)));
        List<Step> steps = Timeline.of(recordings, "").steps();
        assertThat(steps).hasSize(10);
        assertThat(steps)
                .extracting(Step::collectives)
                .containsExactly(3, 3, 3, 3, 4, 3, 3, 3, 3, 4);
        assertThat(steps.get(4).slowest()).isEqualTo(1);
        assertThat(steps.get(4).waitedNanos()).isEqualTo(100_000);
        assertThat(steps.get(3).slowest()).isEqualTo(-1);
        assertThat(steps.get(0).endNanos()).isEqualTo(steps.get(1).startNanos());
        assertThat(Timeline.of(recordings, "float64").steps()).hasSize(2);
        assertThat(Timeline.of(recordings, "nothing like it").steps()).isEmpty();
    }

    /** Ten epochs of ten steps, each with a checkpoint that has more collectives than its steps. */
    @Test
    void aCheckpointForEachEpochIsNoStep() {
        List<Recording.Span> spans = new ArrayList<>();
        long time = 0;
        for (int epoch = 0; epoch < 10; epoch++) {
            for (int step = 0; step < 10; step++) {
                for (int bucket = 1; bucket <= 2; bucket++) {
                    String name = "allReduce(float32 x " + bucket + ", SUM)";
                    spans.add(span(name, spans.size(), time, time + 40));
                    time += 50;
                }
            }
            for (int i = 0; i < 30; i++) {
                spans.add(span("allGather(int64 x 1)", spans.size(), time, time + 1));
                time += 2;
            }
        }
        Recording only = recording(0, 1, spans.toArray(Recording.Span[]::new));
        assertThat(timeline(only).steps()).hasSize(100);
    }

    @Test
    void withoutRepetitionThereAreNoSteps() {
        Timeline timeline =
                timeline(recording(0, 1, span("barrier()", 0, 1, 2), span(ALL_REDUCE, 1, 3, 4)));
        assertThat(timeline.steps()).isEmpty();
    }

    @Test
    void overlapIsTheTimeInOperationsInWhichNobodyIsBlocked() {
        Timeline timeline =
                timeline(
                        recording(
                                0,
                                1,
                                List.of(
                                        blocked(0, 150, 200),
                                        blocked(1, 190, 250),
                                        blocked(2, 900, 950)),
                                span(ALL_REDUCE, 0, 100, 200),
                                span(ALL_REDUCE, 1, 150, 300),
                                span(ALL_REDUCE, 2, 400, 450)));
        RankSummary rank = timeline.ranks().get(0);
        assertThat(rank.busyNanos()).isEqualTo(250_000);
        assertThat(rank.blockedNanos()).isEqualTo(100_000);
        assertThat(rank.blockedKnown()).isTrue();
        assertThat(
                        timeline(recording(0, 1, span(ALL_REDUCE, 0, 1, 2)))
                                .ranks()
                                .get(0)
                                .blockedKnown())
                .isFalse();
    }
}

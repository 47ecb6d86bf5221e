package org.jccl.cli.trace;

import java.util.ArrayList;
import java.util.List;
import org.jccl.cli.trace.Recording.Span;
import org.jccl.cli.trace.Recording.Wait;

/** Makes recordings of groups that all ranks are in. Times are microseconds. */
final class Recordings {

    static final String ALL_REDUCE = "allReduce(float32 x 8, SUM)";

    private Recordings() {}

    static Span span(String name, long sequence, long start, long end) {
        return new Span(name, "completed", true, sequence, 32, start * 1000, end * 1000);
    }

    static Span stuck(String name, long sequence, long start, long end) {
        return new Span(name, "started", true, sequence, 32, start * 1000, end * 1000);
    }

    static Wait blocked(long sequence, long start, long end) {
        return new Wait("main", true, sequence, start * 1000, end * 1000);
    }

    static Recording recording(int rank, int ranks, Span... spans) {
        return recording(rank, ranks, List.of(), spans);
    }

    static Recording recording(int rank, int ranks, List<Wait> waits, Span... spans) {
        List<Integer> members = new ArrayList<>();
        for (int member = 0; member < ranks; member++) {
            members.add(member);
        }
        return new Recording(
                rank, "world (test)", members, 9_000_000, "", List.of(spans), waits, false);
    }
}

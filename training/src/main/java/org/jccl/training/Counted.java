package org.jccl.training;

/** A number and its noun, for messages. */
final class Counted {

    private Counted() {}

    /** For instance {@code 1 bucket} or {@code 2 buckets}. */
    static String of(long count, String noun) {
        return count + " " + noun + (count == 1 ? "" : "s");
    }
}

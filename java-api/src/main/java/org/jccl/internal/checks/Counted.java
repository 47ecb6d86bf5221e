package org.jccl.internal.checks;

/** Formats numbers of things. */
public final class Counted {

    private Counted() {}

    /** Returns for instance {@code 1 rank} or {@code 2 ranks}. */
    public static String text(long number, String one) {
        return number + " " + one + (number == 1 ? "" : "s");
    }
}

package org.jccl.internal.checks;

/** How messages count. */
public final class Counted {

    private Counted() {}

    /**
     * A number and what it counts.
     *
     * @param number how many
     * @param one what one of them is called, whose plural ends with an s
     * @return for instance {@code 1 rank} or {@code 2 ranks}
     */
    public static String text(long number, String one) {
        return number + " " + one + (number == 1 ? "" : "s");
    }
}

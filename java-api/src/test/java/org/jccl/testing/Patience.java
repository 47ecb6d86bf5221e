package org.jccl.testing;

import java.time.Duration;

/**
 * The deadlines in tests. A test says of each whether it waits for the deadline to pass, so that no
 * test depends on how fast the host is.
 */
public final class Patience {

    /**
     * How many times slower than usual the host is: the system property {@code
     * org.jccl.conformance.slowness}, which {@code script/test} measures; 1 when it is not set.
     */
    private static final int SLOWNESS = Integer.getInteger("org.jccl.conformance.slowness", 1);

    /** The option of a JVM that a test starts, whose deadlines are as patient. */
    static final String OPTION = "-Dorg.jccl.conformance.slowness=" + SLOWNESS;

    /**
     * A deadline that never passes in a test: JUnit ends the test before, and shows where its
     * threads are. For tests that something ends a wait before its deadline.
     */
    public static final Duration NEVER = Duration.ofHours(1);

    private Patience() {}

    /**
     * A deadline that the test waits for. It is as long on every host; what the test asserts is the
     * outcome.
     *
     * @param deadline how long to wait
     * @return the same
     */
    public static Duration expires(Duration deadline) {
        return deadline;
    }

    /**
     * A deadline that must not pass before what it limits is done.
     *
     * @param deadline plenty on a host that is not slow
     * @return that many times the slowness of this host
     */
    public static Duration enough(Duration deadline) {
        return deadline.multipliedBy(SLOWNESS);
    }
}

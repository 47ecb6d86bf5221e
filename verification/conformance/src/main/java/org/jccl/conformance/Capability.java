package org.jccl.conformance;

/**
 * What some libraries cannot do, so that the suite asks for it only where it is there. A backend
 * without one must still refuse it with a message, or document how it behaves instead.
 */
public enum Capability {
    /** Ranks send to and receive from one another. */
    MESSAGES("there are no messages between two ranks"),

    /** All collectives go with more than four ranks. */
    MANY_RANKS("some collectives go with four ranks at most"),

    /** A receive takes only messages with its tag. */
    TAGS("messages have no tags"),

    /** A receive takes from whoever sends first. */
    ANY_SOURCE("a receive names its sender"),

    /**
     * Operations meet that ranks issue in different orders: messages hold up neither collectives
     * nor messages the other way, and groups do not hold up each other. Libraries that run on one
     * stream run in its order.
     */
    ANY_ORDER("operations run in the order of their stream, so ranks must issue them in one order"),

    /** A synchronous call returns when its operation is done, and throws when it failed. */
    BLOCKING_CALLS("a synchronous call is enqueued and returns"),

    /**
     * A synchronous call that can not complete throws. A library may be unable to end it: then the
     * job ends.
     */
    ENDING_CALLS("a synchronous call that can not complete ends the job"),

    /** Ranks that are left after one was lost can form a group in the same processes. */
    SURVIVORS("cannot continue without a lost rank"),

    /** Tensors may have more elements than an {@code int} counts. */
    LARGE_TENSORS("its tensors have no more elements than an int counts"),

    /** Ranks whose calls do not fit together get an exception each, whatever the difference. */
    COMPARED_CALLS("the library does not compare the ranks' calls"),

    /**
     * Ranks whose collectives differ get stuck, are compared there, and come free by an abort. Of a
     * library that may also end with wrong data, only its mock has it.
     */
    STUCK_MISMATCHES("ranks whose collectives differ may end with wrong data or stay stuck");

    private final String absence;

    Capability(String absence) {
        this.absence = absence;
    }

    /** Why a case that needs it is skipped. */
    String absence() {
        return absence;
    }
}

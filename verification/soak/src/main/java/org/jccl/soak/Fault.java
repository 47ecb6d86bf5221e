package org.jccl.soak;

/** What happens to one rank of a world. */
enum Fault {
    /** Nothing. */
    NONE(false),
    /** Ranks come late to the world and to some steps. */
    LATE(false),
    /** SIGSTOP, and SIGCONT before any deadline. */
    PAUSE(false),
    /** SIGSTOP, and SIGCONT when the others are done. */
    FREEZE(true),
    /** SIGKILL. */
    KILL(true),
    /** The rank aborts its world. */
    ABORT(true),
    /** The rank closes its world while the others use it. */
    CLOSE(true);

    private final boolean fails;

    Fault(boolean fails) {
        this.fails = fails;
    }

    /** Whether the other ranks' operations fail. */
    boolean fails() {
        return fails;
    }

    /** Whether the driver does it by a signal. */
    boolean isSignal() {
        return this == PAUSE || this == FREEZE || this == KILL;
    }
}

package org.jccl.testing;

import static org.jccl.testing.Patience.enough;

import java.time.Duration;
import java.util.OptionalInt;
import org.jccl.bootstrap.Rendezvous;

/** A rank that a launcher started. */
public final class LaunchedRank {

    /** How long ranks wait for each other, which may start late on a busy machine. */
    public static final Duration TIMEOUT = enough(Duration.ofSeconds(90));

    private LaunchedRank() {}

    /**
     * Meets the other ranks where the environment says.
     *
     * @return the meeting, which the caller closes
     */
    public static Rendezvous join() {
        return Rendezvous.join(
                "env://", OptionalInt.empty(), OptionalInt.empty(), TIMEOUT, System.getenv());
    }
}

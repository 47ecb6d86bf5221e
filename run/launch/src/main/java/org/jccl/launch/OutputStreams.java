package org.jccl.launch;

/** A choice of a process's two output streams. The order gives torchrun's numbers 0 to 3. */
public enum OutputStreams {
    /** Neither. */
    NONE,
    /** Standard output. */
    STDOUT,
    /** Standard error. */
    STDERR,
    /** Both. */
    BOTH;

    /**
     * Whether a stream is among these.
     *
     * @param error true for standard error, false for standard output
     * @return whether it is
     */
    boolean include(boolean error) {
        return this == BOTH || this == (error ? STDERR : STDOUT);
    }
}

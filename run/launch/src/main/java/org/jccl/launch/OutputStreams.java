package org.jccl.launch;

/** A choice of a process's two output streams, in the order of torchrun's numbers 0 to 3. */
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
     * Returns whether this choice includes a stream.
     *
     * @param error true for standard error, false for standard output
     * @return true if it does
     */
    boolean include(boolean error) {
        return this == BOTH || this == (error ? STDERR : STDOUT);
    }
}

package org.jccl.cli.bench;

import java.util.Locale;

/** How an operation is called. */
public enum Mode {
    /** {@code group.sync()}: on the calling thread, without a work. */
    SYNC,
    /** Issued as a work, which is awaited before the next one is issued. */
    ASYNC;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}

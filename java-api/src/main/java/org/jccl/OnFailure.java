package org.jccl;

/** What a process does if one of its groups fails. */
public enum OnFailure {
    /**
     * Operations of the group throw. Waits through this API also throw, for streams that were
     * ordered after those operations. The process continues. This is the default.
     */
    THROW,

    /**
     * The process ends at once, before the library unblocks stuck operations. It writes a report to
     * standard error and to the launcher's error file. Use it for programs that read results with
     * their own kernels or through another framework: this API cannot keep them from reading the
     * results of a failed operation. No shutdown hook runs, because hooks may wait for the device.
     *
     * <p>{@link ProcessGroup#abort} and {@link ProcessGroup#close} in this process do not count as
     * failures. An abort of another rank does.
     */
    END_PROCESS
}

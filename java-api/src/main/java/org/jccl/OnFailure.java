package org.jccl;

/** What a process does if one of its groups fails. */
public enum OnFailure {
    /**
     * Operations of the group throw, and so do waits through this API for streams that were ordered
     * after them. The process continues. The default.
     */
    THROW,

    /**
     * The process ends at once, with a report on standard error and in the error file of the
     * launcher, before the library releases what is stuck. For programs that read results by
     * kernels of their own or through another framework: this API cannot prevent them from reading
     * the remains of a failed operation. No shutdown hook runs, because hooks may wait for the
     * device.
     *
     * <p>{@link ProcessGroup#abort} and {@link ProcessGroup#close} in this process do not count as
     * failures. An abort of another rank does.
     */
    END_PROCESS
}

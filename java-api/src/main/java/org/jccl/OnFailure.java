package org.jccl;

/** What a process does when one of its groups fails. */
public enum OnFailure {
    /**
     * Operations of the group throw, and so does whatever waits through this API for a stream that
     * was ordered after them. The process goes on. The default.
     */
    THROW,

    /**
     * The process ends at once, with a report on standard error and in the launcher's error file,
     * before the library lets go of what is stuck. For programs that read results by kernels of
     * their own or through another framework, which this API can not stop from reading what a
     * failed operation has left. No shutdown hook runs, as they may wait for the device.
     *
     * <p>{@link ProcessGroup#abort} and {@link ProcessGroup#close} in this process do not count as
     * failures; another rank's abort does.
     */
    END_PROCESS
}

package org.jccl.spi;

import org.jccl.JcclException;

/**
 * Runs calls that only clean up, usually after a failure. Their failures are logged, so they
 * neither get lost nor replace the first error. Thread-safe.
 */
public final class CleanUp {

    private static final System.Logger LOGGER = System.getLogger(CleanUp.class.getName());

    private CleanUp() {}

    /**
     * Runs calls and logs their failure.
     *
     * @param where what is cleaned up, for the log, for instance {@code group world}
     * @param calls the calls; may throw anything unchecked
     */
    public static void run(String where, Runnable calls) {
        try {
            calls.run();
        } catch (RuntimeException | Error e) {
            log(where, e);
        }
    }

    /**
     * Logs a failure that is not reported otherwise. Never throws, even if logging fails, because
     * the steps after a clean-up must not depend on it.
     *
     * @param where what is cleaned up, for the log
     * @param failure the failure
     */
    public static void log(String where, Throwable failure) {
        try {
            log(
                    where,
                    failure instanceof JcclException known
                            ? known.getMessage()
                            : failure.toString());
        } catch (RuntimeException | Error e) {
            return; // the failure cannot be reported
        }
    }

    /**
     * Logs a problem that is not reported otherwise. Never throws.
     *
     * @param where what is cleaned up, for the log
     * @param problem what went wrong
     */
    public static void log(String where, String problem) {
        try {
            LOGGER.log(System.Logger.Level.WARNING, where + ": " + problem);
        } catch (RuntimeException | Error e) {
            return; // the problem cannot be reported
        }
    }
}

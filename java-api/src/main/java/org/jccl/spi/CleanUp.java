package org.jccl.spi;

import org.jccl.JcclException;

/**
 * Native calls that only clean up, most often after a failure. What goes wrong in them is logged,
 * so that it is neither lost nor takes the place of the first error. Safe for use by any thread.
 */
public final class CleanUp {

    private static final System.Logger LOG = System.getLogger(CleanUp.class.getName());

    private CleanUp() {}

    /**
     * Makes calls and logs the failure they end with.
     *
     * @param where what is cleaned up, for the log, for instance {@code group world}
     * @param calls throw what a native result means, or anything unchecked
     */
    public static void run(String where, Runnable calls) {
        try {
            calls.run();
        } catch (RuntimeException | Error e) {
            failed(where, e);
        }
    }

    /**
     * Logs a failure that nobody is told of otherwise. Does not throw, whatever the log does: what
     * comes after the clean-up, such as telling those who wait, must not depend on it.
     *
     * @param where what is cleaned up, for the log
     * @param failure call, code and text
     */
    public static void failed(String where, Throwable failure) {
        try {
            String text =
                    failure instanceof JcclException known
                            ? known.getMessage()
                            : failure.toString();
            LOG.log(System.Logger.Level.WARNING, where + ": " + text);
        } catch (RuntimeException | Error e) {
            return; // there is nothing left to tell it with
        }
    }
}

package org.jccl.spi;

import java.net.SocketTimeoutException;
import org.jccl.StoreTimeoutException;

/**
 * Distinguishes a store whose server does not answer from one in which a key did not appear. A
 * caller with a deadline must not ask a silent server again.
 */
public final class SilentStore {

    private static final int MAX_CAUSES = 16;

    private SilentStore() {}

    /**
     * Returns whether a failure was caused by a store server that did not answer.
     *
     * @param failure the failure
     * @return true if the failure or one of its causes says so
     */
    public static boolean isCauseOf(Throwable failure) {
        Throwable each = failure;
        for (int i = 0; each != null && i < MAX_CAUSES; i++) {
            if (each instanceof StoreTimeoutException
                    && each.getCause() instanceof SocketTimeoutException) {
                return true;
            }
            each = each.getCause();
        }
        return false;
    }

    /**
     * Returns a failed wait at a store as the cause of an exception about a longer wait. If the
     * store answered, returns null, because the duration and keys of the last part of that wait
     * would mislead.
     *
     * @param late the failure of the last part, or null
     * @return the failure if the server did not answer, or null
     */
    public static StoreTimeoutException asCause(StoreTimeoutException late) {
        return isCauseOf(late) ? late : null;
    }
}

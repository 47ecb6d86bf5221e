package org.jccl.spi;

import java.net.SocketTimeoutException;
import org.jccl.StoreTimeoutException;

/**
 * Tells a store whose server does not answer from one in which a key did not appear. Of the first
 * nothing more can be learned in time, so whoever has a deadline asks it nothing more.
 */
public final class SilentStore {

    private static final int MOST_CAUSES = 16;

    private SilentStore() {}

    /**
     * Whether something failed since the server of a store did not answer.
     *
     * @param failure what was thrown
     * @return true when it or a cause of it says so
     */
    public static boolean isCauseOf(Throwable failure) {
        Throwable each = failure;
        for (int i = 0; each != null && i < MOST_CAUSES; i++) {
            if (each instanceof StoreTimeoutException
                    && each.getCause() instanceof SocketTimeoutException) {
                return true;
            }
            each = each.getCause();
        }
        return false;
    }
}

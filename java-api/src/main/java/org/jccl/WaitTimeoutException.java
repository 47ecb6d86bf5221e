package org.jccl;

/** A wait ended before the work did. The work continues. */
public final class WaitTimeoutException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public WaitTimeoutException(FailureContext context, String message) {
        super(Category.RETRYABLE, context, message, null);
    }
}

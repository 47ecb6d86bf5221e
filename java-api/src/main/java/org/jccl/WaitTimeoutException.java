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
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public WaitTimeoutException(FailureContext context, String message, Throwable cause) {
        super(Category.RETRYABLE, context, message, cause);
    }
}

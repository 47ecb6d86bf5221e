package org.jccl;

/** An operation did not complete before its deadline, so the group was aborted. */
public final class OperationTimeoutException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public OperationTimeoutException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public OperationTimeoutException(FailureContext context, String message, Throwable cause) {
        super(Category.FATAL_GROUP, context, message, cause);
    }

    @Override
    protected JcclException copy() {
        return new OperationTimeoutException(context(), reason(), this);
    }
}

package org.jccl;

/**
 * Something did not complete before its deadline. If it was an operation, the group was aborted,
 * and the category is {@link JcclException.Category#FATAL_GROUP}. A group that could not be formed
 * and a monitored barrier leave the groups that exist as they were; their category is {@link
 * JcclException.Category#RETRYABLE}.
 */
public final class OperationTimeoutException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception of an operation.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public OperationTimeoutException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception of an operation, with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public OperationTimeoutException(FailureContext context, String message, Throwable cause) {
        this(Category.FATAL_GROUP, context, message, cause);
    }

    private OperationTimeoutException(
            Category category, FailureContext context, String message, Throwable cause) {
        super(category, context, message, cause);
    }

    /**
     * Creates an exception of a call that leaves the groups that exist as they were.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     * @return the exception, not thrown
     */
    public static OperationTimeoutException ofCall(
            FailureContext context, String message, Throwable cause) {
        return new OperationTimeoutException(Category.RETRYABLE, context, message, cause);
    }

    @Override
    protected JcclException copy() {
        return new OperationTimeoutException(category(), context(), reason(), getCause());
    }
}

package org.jccl;

/**
 * A backend cannot be used here. The message lists what was searched for, where, and what to
 * install.
 */
public final class BackendUnavailableException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public BackendUnavailableException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public BackendUnavailableException(FailureContext context, String message, Throwable cause) {
        super(Category.USAGE, context, message, cause);
    }
}

package org.jccl;

/**
 * The environment is contradictory, or it does not define the rank of this process or the address
 * of the other ranks.
 */
public final class BootstrapException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public BootstrapException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public BootstrapException(FailureContext context, String message, Throwable cause) {
        super(Category.USAGE, context, message, cause);
    }
}

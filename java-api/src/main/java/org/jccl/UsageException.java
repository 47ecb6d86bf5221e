package org.jccl;

/** A call or its arguments are wrong. Nothing was sent, and the group stays usable. */
public final class UsageException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public UsageException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public UsageException(FailureContext context, String message, Throwable cause) {
        super(Category.USAGE, context, message, cause);
    }

    /** Returns an argument that must not be null. */
    static <T> T nonNull(T value, String name) {
        if (value == null) {
            throw new UsageException(FailureContext.NONE, name + " is null");
        }
        return value;
    }

    @Override
    protected JcclException copy() {
        return new UsageException(context(), reason(), getCause());
    }
}

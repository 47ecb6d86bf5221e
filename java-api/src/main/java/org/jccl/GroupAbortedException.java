package org.jccl;

/** The group was aborted or closed by this process. */
public final class GroupAbortedException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public GroupAbortedException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public GroupAbortedException(FailureContext context, String message, Throwable cause) {
        super(Category.FATAL_GROUP, context, message, cause);
    }

    /**
     * Returns the exit code for a rank that this failure ends.
     *
     * @return the exit code of the cause, if there is one: a later call fails for the same reason
     */
    @Override
    public int exitCode() {
        return getCause() instanceof JcclException cause ? cause.exitCode() : super.exitCode();
    }

    @Override
    protected JcclException copy() {
        return new GroupAbortedException(context(), reason(), getCause());
    }
}

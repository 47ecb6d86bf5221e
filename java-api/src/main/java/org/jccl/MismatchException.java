package org.jccl;

/**
 * Ranks issued different operations at the same position: another operation, count, data type,
 * reduce op or root. Also thrown with {@link ProcessGroupBuilder#checkCalls} on the CPU if two
 * threads of a rank issue collectives at the same time.
 */
public final class MismatchException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public MismatchException(FailureContext context, String message) {
        this(context, message, null);
    }

    private MismatchException(FailureContext context, String message, Throwable cause) {
        super(Category.FATAL_GROUP, context, message, cause);
    }

    /**
     * Returns the exit code for a rank that this failure ends.
     *
     * @return 64, because the ranks would make the same mismatched calls again
     */
    @Override
    public int exitCode() {
        return Category.USAGE.exitCode();
    }

    @Override
    protected JcclException copy() {
        return new MismatchException(context(), reason(), getCause());
    }
}

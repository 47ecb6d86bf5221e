package org.jccl;

/**
 * Root of everything this library throws. {@link #category()} says what the caller can do about it,
 * {@link #context()} where it happened.
 */
public abstract class JcclException extends RuntimeException {

    /** What a caller can do after a failure. */
    public enum Category {
        /**
         * The call, its arguments or the set-up is wrong: change the program or the environment.
         */
        USAGE(64),
        /** The same call may succeed when it is made again; nothing was destroyed. */
        RETRYABLE(75),
        /** The group can not be used any more: close it and build a new one on every rank. */
        FATAL_GROUP(75);

        private final int exitCode;

        Category(int exitCode) {
            this.exitCode = exitCode;
        }

        /**
         * What a rank exits with that such a failure ends, as {@code sysexits.h} has it: 64
         * (EX_USAGE) when it would fail the same way if it were started again, 75 (EX_TEMPFAIL)
         * when it should be. {@code jccl run --max-restarts} does not restart a job of which a rank
         * exits with 64.
         *
         * @return the exit code
         */
        public int exitCode() {
            return exitCode;
        }
    }

    private static final long serialVersionUID = 1L;

    /** What the caller can do. */
    private final Category category;

    private transient FailureContext context;

    /**
     * Creates an exception.
     *
     * @param category what the caller can do
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    protected JcclException(
            Category category, FailureContext context, String message, Throwable cause) {
        super(message, cause);
        this.category = category;
        this.context = context;
    }

    /** Where it happened, followed by what failed, why, and what to do next. */
    @Override
    public final String getMessage() {
        String where = context().toString();
        return where.isEmpty() ? reason() : where + ": " + reason();
    }

    /**
     * The message without the context.
     *
     * @return what failed, why, and what to do next
     */
    public final String reason() {
        return super.getMessage();
    }

    /**
     * Adds where it happened, unless that is known already. Bindings throw without context; the
     * engines, which know it, add it before anyone else sees the exception.
     *
     * @param where the context
     * @return this exception
     */
    public final JcclException at(FailureContext where) {
        if (context().equals(FailureContext.NONE)) {
            context = where;
        }
        return this;
    }

    /**
     * What the caller can do about it.
     *
     * @return the category
     */
    public final Category category() {
        return category;
    }

    /**
     * What a rank should exit with that this failure ends, so that its launcher knows whether to
     * start the job again: {@code System.exit(e.exitCode())}. An exception that nobody catches ends
     * a JVM with 1, which launchers take for a reason to start again.
     *
     * @return that of the {@linkplain Category#exitCode category}, unless the exception says
     *     otherwise
     */
    public int exitCode() {
        return category.exitCode();
    }

    /**
     * Where it happened: group, rank, operation and its sequence number.
     *
     * @return the context; {@link FailureContext#NONE} after deserialisation
     */
    public final FailureContext context() {
        return context == null ? FailureContext.NONE : context;
    }
}

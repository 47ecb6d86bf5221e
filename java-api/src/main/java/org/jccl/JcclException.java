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
        USAGE,
        /** The same call may succeed when it is made again; nothing was destroyed. */
        RETRYABLE,
        /** The group can not be used any more: close it and build a new one on every rank. */
        FATAL_GROUP
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
     * Where it happened: group, rank, operation and its sequence number.
     *
     * @return the context; {@link FailureContext#NONE} after deserialisation
     */
    public final FailureContext context() {
        return context == null ? FailureContext.NONE : context;
    }
}

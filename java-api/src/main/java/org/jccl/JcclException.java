package org.jccl;

import java.util.Arrays;

/**
 * Base class of the exceptions of this library. {@link #category()} says what the caller can do,
 * {@link #context()} where the failure happened.
 */
public abstract class JcclException extends RuntimeException {

    /** What a caller can do after a failure. */
    public enum Category {
        /**
         * The call, its arguments or the set-up is wrong. The program or the environment must
         * change. The groups that exist stay usable.
         */
        USAGE(64),
        /** The same call may succeed later. The groups that exist stay usable. */
        RETRYABLE(75),
        /** The group cannot be used any more. Close it and build a new one on every rank. */
        FATAL_GROUP(75);

        private final int exitCode;

        Category(int exitCode) {
            this.exitCode = exitCode;
        }

        /**
         * Returns the exit code for a rank that ends with such a failure, as in {@code sysexits.h}:
         * 64 (EX_USAGE) if a restart would fail the same way, 75 (EX_TEMPFAIL) if the rank should
         * be restarted. {@code jccl run --max-restarts} does not restart a job in which a rank
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

    /** Returns the context, followed by what failed, why, and what to do next. */
    @Override
    public final String getMessage() {
        String where = context().toString();
        return where.isEmpty() ? reason() : where + ": " + reason();
    }

    /**
     * Returns the message without the context.
     *
     * @return what failed, why, and what to do next
     */
    public final String reason() {
        return super.getMessage();
    }

    /**
     * Sets the context, unless it is known already. Bindings throw without context; the engines add
     * it before a caller sees the exception.
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
     * Returns what the caller can do.
     *
     * @return the category
     */
    public final Category category() {
        return category;
    }

    /**
     * Returns the exit code for a rank that ends with this failure. {@code
     * System.exit(e.exitCode())} tells the launcher whether to restart the job. After an uncaught
     * exception, a JVM exits with 1, and launchers restart the job.
     *
     * @return the code of the {@linkplain Category#exitCode category}, unless the class overrides
     *     it
     */
    public int exitCode() {
        return category.exitCode();
    }

    /**
     * Returns where the failure happened: group, rank, operation and sequence number.
     *
     * @return the context; {@link FailureContext#NONE} after deserialisation
     */
    public final FailureContext context() {
        return context == null ? FailureContext.NONE : context;
    }

    /**
     * Returns the exception that the calling thread throws for this failure. Another thread, such
     * as the watchdog, may have found the failure, or an earlier call may have thrown it. Then the
     * result is a copy with the stack trace of the caller and the cause of this exception, so that
     * a printed stack trace has each message once.
     *
     * @return this exception or a copy of its class
     */
    public final JcclException forCaller() {
        StackTraceElement[] caller = new Throwable().getStackTrace();
        StackTraceElement[] known = getStackTrace();
        int frames = caller.length;
        for (int i = 0; i < caller.length; i++) {
            String name = caller[i].getClassName();
            if (!name.startsWith("org.jccl.internal.")
                    && !name.equals(JcclException.class.getName())) {
                frames = caller.length - i;
                break;
            }
        }
        boolean shown =
                frames <= known.length
                        && Arrays.equals(
                                caller,
                                caller.length - frames,
                                caller.length,
                                known,
                                known.length - frames,
                                known.length);
        return shown ? this : copy();
    }

    /**
     * Creates an exception of the same class, context, message and cause. An exception whose class
     * does not override this method is thrown itself, without a copy.
     *
     * @return the copy
     */
    protected JcclException copy() {
        return this;
    }
}

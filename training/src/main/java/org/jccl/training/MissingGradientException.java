package org.jccl.training;

import org.jccl.FailureContext;
import org.jccl.JcclException;

/**
 * Gradients never became ready in a step, on this rank or on another one. Nothing was written to
 * the program's gradients; what lies in buckets means nothing. The process group is as it was.
 */
public final class MissingGradientException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public MissingGradientException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public MissingGradientException(FailureContext context, String message, Throwable cause) {
        super(Category.USAGE, context, message, cause);
    }
}

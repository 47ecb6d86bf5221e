package org.jccl.training;

import org.jccl.FailureContext;
import org.jccl.JcclException;

/**
 * Thrown if gradients never became ready in a step, on this rank or on another rank. The program's
 * gradients are unchanged; the contents of the buckets are undefined. The process group remains
 * usable.
 */
public final class MissingGradientException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context the rank, group and operation of the failure
     * @param message what failed, why, and what to do next
     */
    public MissingGradientException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context the rank, group and operation of the failure
     * @param message what failed, why, and what to do next
     * @param cause the cause, or null
     */
    public MissingGradientException(FailureContext context, String message, Throwable cause) {
        super(Category.USAGE, context, message, cause);
    }
}

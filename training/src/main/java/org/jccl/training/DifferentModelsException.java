package org.jccl.training;

import org.jccl.FailureContext;
import org.jccl.JcclException;

/**
 * Thrown if ranks have different parameters, gradients, samplers or options, or save a replicated
 * tensor with different elements. The process group remains usable.
 */
public final class DifferentModelsException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context the rank, group and operation of the failure
     * @param message what failed, why, and what to do next
     */
    public DifferentModelsException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context the rank, group and operation of the failure
     * @param message what failed, why, and what to do next
     * @param cause the cause, or null
     */
    public DifferentModelsException(FailureContext context, String message, Throwable cause) {
        super(Category.USAGE, context, message, cause);
    }
}

package org.jccl.training;

import org.jccl.FailureContext;
import org.jccl.JcclException;

/**
 * Ranks have different parameters, registered different gradients, draw from different samples,
 * chose different options, or save a replicated tensor whose elements differ. The process group is
 * as it was.
 */
public final class DifferentModelsException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public DifferentModelsException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public DifferentModelsException(FailureContext context, String message, Throwable cause) {
        super(Category.USAGE, context, message, cause);
    }
}

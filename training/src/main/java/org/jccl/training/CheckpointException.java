package org.jccl.training;

import org.jccl.FailureContext;
import org.jccl.JcclException;

/**
 * A checkpoint can not be written or read: a file is missing, cut, damaged or not what was asked
 * for, or another save into its directory is in progress. The message names the file, or the
 * process that saves.
 */
public final class CheckpointException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public CheckpointException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public CheckpointException(FailureContext context, String message, Throwable cause) {
        super(Category.USAGE, context, message, cause);
    }
}

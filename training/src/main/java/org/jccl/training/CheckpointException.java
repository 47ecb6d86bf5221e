package org.jccl.training;

import org.jccl.FailureContext;
import org.jccl.JcclException;

/**
 * Thrown if a checkpoint cannot be written or read: a file is missing, truncated, damaged or
 * unsuitable, or another save into its directory is in progress. The message names the file, or the
 * process that saves.
 */
public final class CheckpointException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context the rank, group and operation of the failure
     * @param message what failed, why, and what to do next
     */
    public CheckpointException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context the rank, group and operation of the failure
     * @param message what failed, why, and what to do next
     * @param cause the cause, or null
     */
    public CheckpointException(FailureContext context, String message, Throwable cause) {
        super(Category.USAGE, context, message, cause);
    }
}

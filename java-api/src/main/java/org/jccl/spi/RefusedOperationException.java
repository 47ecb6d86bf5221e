package org.jccl.spi;

/**
 * Thrown by a communicator for an operation that all ranks reject alike. Nothing has begun, and the
 * communicator stays in use. The caller gets a {@link org.jccl.UsageException}, and the group stays
 * usable.
 */
public final class RefusedOperationException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message what is rejected, why, and what to do instead
     */
    public RefusedOperationException(String message) {
        super(message);
    }
}

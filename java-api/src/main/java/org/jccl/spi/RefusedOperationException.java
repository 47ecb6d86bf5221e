package org.jccl.spi;

/**
 * Thrown by a communicator for an operation that all ranks reject alike. The operation has not
 * begun, and the communicator stays usable. The caller gets a {@link org.jccl.UsageException}, and
 * the group stays usable.
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

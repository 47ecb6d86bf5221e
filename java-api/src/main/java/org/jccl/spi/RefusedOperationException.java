package org.jccl.spi;

/**
 * What a communicator throws for an operation that it does not know, where all ranks refuse it
 * alike: nothing was begun, and the communicator goes on. The caller gets a {@link
 * org.jccl.UsageException}, and the group stays as it was.
 */
public final class RefusedOperationException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message what is refused, why, and what to do instead
     */
    public RefusedOperationException(String message) {
        super(message);
    }
}

package org.jccl;

/** Keys did not appear, or the server did not answer, in time. */
public final class StoreTimeoutException extends StoreException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message which keys were awaited, for how long, on which store
     * @param cause the failure beneath, or null
     */
    public StoreTimeoutException(String message, Throwable cause) {
        super(message, cause);
    }

    @Override
    protected JcclException copy() {
        return new StoreTimeoutException(reason(), getCause());
    }
}

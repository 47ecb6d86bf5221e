package org.jccl;

/** A store could not be reached or rejected a request. */
public class StoreException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param message what failed, against which store, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public StoreException(String message, Throwable cause) {
        super(Category.RETRYABLE, FailureContext.NONE, message, cause);
    }

    @Override
    protected JcclException copy() {
        return new StoreException(reason(), getCause());
    }
}

package org.jccl;

/** A peer closed its connection or died while the group was in use. */
public final class PeerLostException extends JcclException {

    private static final long serialVersionUID = 1L;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     */
    public PeerLostException(FailureContext context, String message) {
        this(context, message, null);
    }

    /**
     * Creates an exception with a cause.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param cause the failure beneath, or null
     */
    public PeerLostException(FailureContext context, String message, Throwable cause) {
        super(Category.FATAL_GROUP, context, message, cause);
    }
}

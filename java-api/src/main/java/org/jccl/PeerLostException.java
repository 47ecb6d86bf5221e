package org.jccl;

import java.util.OptionalInt;

/** A peer closed its connection or died while the group was in use. */
public final class PeerLostException extends JcclException {

    private static final long serialVersionUID = 2L;

    private static final int UNKNOWN = -1;

    /** Rank in the group, or {@link #UNKNOWN}. */
    private final int peer;

    /**
     * Creates an exception for an unknown peer.
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
        this(context, message, UNKNOWN, cause);
    }

    /**
     * Creates an exception that names the lost rank.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param peer the lost rank in the group, or a negative number if unknown
     */
    public PeerLostException(FailureContext context, String message, int peer) {
        this(context, message, peer, null);
    }

    private PeerLostException(FailureContext context, String message, int peer, Throwable cause) {
        super(Category.FATAL_GROUP, context, message, cause);
        this.peer = Math.max(UNKNOWN, peer);
    }

    /**
     * Returns the rank that was lost first, as far as is known.
     *
     * @return its rank in the group, or empty if the library does not report it
     */
    public OptionalInt peer() {
        return peer == UNKNOWN ? OptionalInt.empty() : OptionalInt.of(peer);
    }

    @Override
    protected JcclException copy() {
        return new PeerLostException(context(), reason(), peer, getCause());
    }
}

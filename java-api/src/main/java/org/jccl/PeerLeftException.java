package org.jccl;

/**
 * A peer closed the group normally, and this rank issued more operations than that peer, for
 * instance because the ranks have different numbers of batches. The group cannot be used any more.
 * The exit code is that of {@link JcclException.Category#USAGE}, because the program would fail
 * again.
 */
public final class PeerLeftException extends JcclException {

    private static final long serialVersionUID = 1L;

    /** Rank in the group. */
    private final int peer;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param message what failed, why, and what to do next
     * @param peer the rank in the group that left
     */
    public PeerLeftException(FailureContext context, String message, int peer) {
        this(context, message, peer, null);
    }

    private PeerLeftException(FailureContext context, String message, int peer, Throwable cause) {
        super(Category.FATAL_GROUP, context, message, cause);
        this.peer = peer;
    }

    /**
     * Returns the rank that left.
     *
     * @return its rank in the group
     */
    public int peer() {
        return peer;
    }

    @Override
    public int exitCode() {
        return Category.USAGE.exitCode();
    }

    @Override
    protected JcclException copy() {
        return new PeerLeftException(context(), reason(), peer, getCause());
    }
}

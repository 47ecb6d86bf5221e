package org.jccl;

/** A vendor library, or the operating system, reported a failure that fits no narrower class. */
public final class NativeException extends JcclException {

    private static final long serialVersionUID = 1L;

    /** The native return code. */
    private final int code;

    /**
     * Creates an exception.
     *
     * @param context where it happened
     * @param library the vendor library, for instance {@code libgloo}
     * @param code the native return code
     * @param text the native message
     */
    public NativeException(FailureContext context, String library, int code, String text) {
        super(
                Category.FATAL_GROUP,
                context,
                library + " failed with code " + code + ": " + text,
                null);
        this.code = code;
    }

    private NativeException(NativeException other) {
        super(Category.FATAL_GROUP, other.context(), other.reason(), other.getCause());
        this.code = other.code;
    }

    /**
     * Returns the native return code.
     *
     * @return the code of the vendor library
     */
    public int code() {
        return code;
    }

    @Override
    protected JcclException copy() {
        return new NativeException(this);
    }
}

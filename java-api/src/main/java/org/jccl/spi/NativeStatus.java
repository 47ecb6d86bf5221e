package org.jccl.spi;

/**
 * What a call into native code of this project came to. Native code returns the number, which is
 * the ordinal: {@code native/common/jccl.h} has the same list. The binding makes the exception,
 * since the library knows the reason.
 */
public enum NativeStatus {
    /** It succeeded. */
    OK,
    /** A peer did not do its part in time. */
    TIMEOUT,
    /** A peer is gone. */
    PEER_LOST,
    /** The arguments are refused; the group goes on. */
    INVALID,
    /** The communicator was aborted or closed. */
    ABORTED,
    /** The ranks do not issue the same operations. */
    MISMATCH,
    /** Anything else that went wrong in the library. */
    INTERNAL;

    private static final NativeStatus[] BY_NUMBER = values();

    /**
     * The status of a number.
     *
     * @param number what native code returned
     * @return the status; {@link #INTERNAL} for a number that is none
     */
    public static NativeStatus of(int number) {
        return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : INTERNAL;
    }
}

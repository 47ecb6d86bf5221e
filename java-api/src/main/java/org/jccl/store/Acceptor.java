package org.jccl.store;

import java.util.List;

/**
 * A server in {@link Paxos}, as its proposers see it. It only reads, and compares and sets; the
 * proposers do the rest. Each method throws {@link org.jccl.StoreException} if the server does not
 * answer; the request may have been carried out.
 */
interface Acceptor {

    /** Returns the value of each key; an empty one if the key is missing. */
    List<byte[]> read(List<String> keys);

    /**
     * Replaces a value if it is the expected one.
     *
     * @param expected the value that must be there, or empty for a missing key
     * @return the value after the call, or {@code expected} if the key is missing but was expected
     *     to exist
     */
    byte[] compareSet(String key, byte[] expected, byte[] desired);

    /** Whether requests can be made. False after one failed, until {@link #connect} succeeds. */
    boolean isConnected();

    /** Whether the time has come to try again to connect. */
    boolean isDue();

    /** Whether the server was lost with all that it had promised and accepted. */
    boolean isGone();

    /** Connects. */
    void connect();
}

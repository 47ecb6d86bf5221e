package org.jccl.internal.membership;

import java.util.Map;

/** The keys of an agreement. Each method is one request, or several that need not be atomic. */
interface MembershipKeys {

    String OPEN = "open";

    static String members(int attempt) {
        return attempt + "/members";
    }

    static String here(int attempt, int slot) {
        return attempt + "/here/" + slot;
    }

    static String finished(int attempt) {
        return attempt + "/finished";
    }

    /** Returns the value of a key, or an empty text if the key is missing. */
    String read(String key);

    /** Writes that a candidate takes part in an attempt. */
    void announce(int attempt, int slot, String text);

    /** Returns the texts of the candidates of an attempt, by slot. */
    Map<Integer, String> present(int attempt, int size);

    /**
     * Replaces a value if it is the expected one.
     *
     * @param expected the value that must be there, or empty for a missing key
     * @return the value after the call
     */
    String compareSet(String key, String expected, String desired);

    /** Adds 1 to a count and returns it. */
    long count(String key);
}

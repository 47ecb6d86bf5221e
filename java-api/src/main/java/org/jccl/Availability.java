package org.jccl;

import java.util.List;

/** Whether a backend can be used in this process, and why not. */
public sealed interface Availability {

    /**
     * The vendor library was loaded.
     *
     * @param version its version as it reports it
     * @param path the file that was loaded
     */
    record Available(String version, String path) implements Availability {}

    /**
     * The vendor library can not be used.
     *
     * @param reason one sentence: what is missing and what to install or set
     * @param tried what was looked for, in order, each with its outcome
     */
    record Unavailable(String reason, List<String> tried) implements Availability {
        /**
         * Copies the list.
         *
         * @param reason one sentence
         * @param tried each with its outcome
         */
        public Unavailable {
            tried = List.copyOf(tried);
        }
    }

    /**
     * Whether the backend can be used.
     *
     * @return true for {@link Available}
     */
    default boolean isAvailable() {
        return this instanceof Available;
    }
}

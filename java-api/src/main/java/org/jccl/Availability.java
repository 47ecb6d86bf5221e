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
         * @throws UsageException when the list or one of it is null
         */
        public Unavailable {
            Given.notNull(tried, "tried").forEach(place -> Given.notNull(place, "a place tried"));
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

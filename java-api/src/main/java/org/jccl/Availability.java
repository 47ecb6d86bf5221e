package org.jccl;

import java.util.List;

/** Whether a backend can be used in this process, and why not. */
public sealed interface Availability {

    /**
     * The vendor library was loaded.
     *
     * @param version the version that it reports
     * @param path the file that was loaded
     */
    record Available(String version, String path) implements Availability {}

    /**
     * The vendor library cannot be used.
     *
     * @param reason one sentence: what is missing, and what to install or set
     * @param tried the places that were tried, in order, each with its outcome
     */
    record Unavailable(String reason, List<String> tried) implements Availability {
        /**
         * Copies the list.
         *
         * @param reason one sentence
         * @param tried each place with its outcome
         * @throws UsageException if the list or an element is null
         */
        public Unavailable {
            UsageException.nonNull(tried, "tried")
                    .forEach(place -> UsageException.nonNull(place, "a place tried"));
            tried = List.copyOf(tried);
        }
    }

    /**
     * Returns whether the backend can be used.
     *
     * @return true for {@link Available}
     */
    default boolean isAvailable() {
        return this instanceof Available;
    }
}

package org.jccl.spi;

import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The features and limits of a communicator. They are known when the communicator is formed. Start
 * from {@link #ALL} and remove what the library lacks.
 *
 * @param features the features of the library
 * @param largestTag the largest tag of a message. The engine rejects larger tags before it calls
 *     the library. 0 if messages have no tags
 * @param missing the operations that the library lacks, each with a sentence for the user: what is
 *     missing, why, and what to use instead. The engine rejects them before they are numbered, so
 *     the group stays usable
 */
public record Capabilities(
        Set<Feature> features, int largestTag, Map<OperationKind, String> missing) {

    /** A feature that a library may have. */
    public enum Feature {
        /**
         * Nothing ends a collective of a {@link HostCommunicator} that waits inside the library for
         * another rank, not even {@link Communicator#abort}. The engine then runs asynchronous
         * collectives on its worker only, so that threads that wait for them have deadlines. If the
         * group fails during a synchronous one, it calls {@link HostCommunicator#endJob}.
         */
        ENDLESS_COLLECTIVES,

        /** A receive can take a message from any peer. */
        ANY_SOURCE,

        /**
         * For the peers, a {@code reduceScatter} of a list of parts differs from one of a single
         * tensor. Lists then always become {@code reduceScatterV}.
         */
        SEPARATE_LIST_REDUCTION,

        /** The same for an {@code allGather} into a list, which then becomes {@code allGatherV}. */
        SEPARATE_LIST_GATHERING,

        /**
         * A {@code reduceScatter} or {@code reduceScatterV} of a {@link HostCommunicator} cannot
         * write to its input. The engine then passes other memory as the output. Has no meaning for
         * a {@link StreamCommunicator}, which must be able to.
         */
        SEPARATE_REDUCTION_OUTPUT,

        /**
         * {@code AVG} of {@code FLOAT16} and {@code BFLOAT16} multiplies each input before it adds,
         * so an average is finite even if the sum is not. Without it, the training kit divides
         * gradients of these types itself.
         */
        SCALED_AVERAGES,

        /** {@link Communicator#split} forms communicators from this one. */
        SPLIT,

        /**
         * The remaining ranks can form a communicator in the same processes after others were lost.
         * Without it, {@code ProcessGroup.shrink} is rejected.
         */
        SHRINK
    }

    /** Any tag, any source, all operations, and shrinking; no other feature. */
    public static final Capabilities ALL =
            new Capabilities(
                    EnumSet.of(Feature.ANY_SOURCE, Feature.SHRINK), Integer.MAX_VALUE, Map.of());

    /**
     * Checks the tag and copies the collections.
     *
     * @param features the features of the library
     * @param largestTag at least 0
     * @param missing a sentence for each missing operation
     * @throws IllegalArgumentException if the tag is negative
     */
    public Capabilities {
        if (largestTag < 0) {
            throw new IllegalArgumentException("largestTag is " + largestTag);
        }
        EnumSet<Feature> copy = EnumSet.noneOf(Feature.class);
        copy.addAll(features);
        features = Collections.unmodifiableSet(copy);
        missing = Map.copyOf(missing);
    }

    /**
     * Returns whether the library has a feature.
     *
     * @param feature the feature
     * @return true if it has the feature
     */
    public boolean has(Feature feature) {
        return features.contains(feature);
    }

    /**
     * Adds features.
     *
     * @param more the features
     * @return a copy
     */
    public Capabilities with(Feature... more) {
        EnumSet<Feature> all = EnumSet.noneOf(Feature.class);
        all.addAll(features);
        all.addAll(List.of(more));
        return new Capabilities(all, largestTag, missing);
    }

    /**
     * Removes features.
     *
     * @param lacking the features
     * @return a copy
     */
    public Capabilities without(Feature... lacking) {
        EnumSet<Feature> rest = EnumSet.noneOf(Feature.class);
        rest.addAll(features);
        rest.removeAll(List.of(lacking));
        return new Capabilities(rest, largestTag, missing);
    }

    /**
     * Limits the tags.
     *
     * @param largest the largest tag, 0 for none
     * @return a copy
     */
    public Capabilities withLargestTag(int largest) {
        return new Capabilities(features, largest, missing);
    }

    /**
     * Removes operations.
     *
     * @param reason a sentence for the user
     * @param kinds the operations
     * @return a copy
     */
    public Capabilities without(String reason, OperationKind... kinds) {
        Map<OperationKind, String> more = new EnumMap<>(OperationKind.class);
        more.putAll(missing);
        for (OperationKind kind : kinds) {
            more.put(kind, reason);
        }
        return new Capabilities(features, largestTag, more);
    }
}

package org.jccl.spi;

import java.util.EnumMap;
import java.util.Map;

/**
 * What a communicator can do, known when it is made. Begin with {@link #ALL} and take away.
 *
 * @param nonBlockingCollectives whether a {@link HostCommunicator} starts collectives in {@link
 *     HostCommunicator.Mode#NONBLOCKING}; means nothing for a {@link StreamCommunicator}
 * @param largestTag the largest tag of messages, since a receive takes only messages with its tag;
 *     larger ones are refused before the library is called. 0 where messages carry no tags
 * @param anySource whether a receive can take from whoever sends first
 * @param reducesListsApart whether a {@code reduceScatter} of a list of parts is another operation,
 *     to the ranks on the other side, than one of a tensor that holds them all. Then lists always
 *     come to {@code reduceScatterV}
 * @param gathersListsApart the same of an {@code allGather} into a list, which then always comes to
 *     {@code allGatherV}
 * @param splits whether {@link Communicator#split} makes communicators out of this one. Where it
 *     does not, a group that comes from a split is made as any other
 * @param shrinks whether ranks that are left after others were lost can form a communicator, in the
 *     same processes. Where they can not, {@code ProcessGroup.shrink} is refused
 * @param missing operations that the library does not have here, each with a sentence that says so,
 *     why, and what to use instead. They are refused before they are numbered, so the group goes on
 */
public record Capabilities(
        boolean nonBlockingCollectives,
        int largestTag,
        boolean anySource,
        boolean reducesListsApart,
        boolean gathersListsApart,
        boolean splits,
        boolean shrinks,
        Map<OperationKind, String> missing) {

    /** Everything that is in the interfaces, and nothing special. */
    public static final Capabilities ALL =
            new Capabilities(false, Integer.MAX_VALUE, true, false, false, false, true, Map.of());

    /**
     * Checks the tag and copies the map.
     *
     * @param nonBlockingCollectives whether collectives can be started
     * @param largestTag at least 0
     * @param anySource whether a receive may leave the sender open
     * @param reducesListsApart whether lists come to {@code reduceScatterV}
     * @param gathersListsApart whether lists come to {@code allGatherV}
     * @param splits whether it can be split
     * @param shrinks whether those that are left can form another
     * @param missing sentences by operation
     * @throws IllegalArgumentException when the tag is negative
     */
    public Capabilities {
        if (largestTag < 0) {
            throw new IllegalArgumentException("largestTag is " + largestTag);
        }
        missing = Map.copyOf(missing);
    }

    /**
     * The same, whose collectives can be started.
     *
     * @return a copy
     */
    public Capabilities withNonBlockingCollectives() {
        return new Capabilities(
                true,
                largestTag,
                anySource,
                reducesListsApart,
                gathersListsApart,
                splits,
                shrinks,
                missing);
    }

    /**
     * The same with smaller tags.
     *
     * @param largest the largest tag, 0 for none
     * @return a copy
     */
    public Capabilities withLargestTag(int largest) {
        return new Capabilities(
                nonBlockingCollectives,
                largest,
                anySource,
                reducesListsApart,
                gathersListsApart,
                splits,
                shrinks,
                missing);
    }

    /**
     * The same, whose receives must name the sender.
     *
     * @return a copy
     */
    public Capabilities withoutAnySource() {
        return new Capabilities(
                nonBlockingCollectives,
                largestTag,
                false,
                reducesListsApart,
                gathersListsApart,
                splits,
                shrinks,
                missing);
    }

    /**
     * The same, to which a list to reduce and scatter is another operation than one tensor.
     *
     * @return a copy
     */
    public Capabilities withListsReducedApart() {
        return new Capabilities(
                nonBlockingCollectives,
                largestTag,
                anySource,
                true,
                gathersListsApart,
                splits,
                shrinks,
                missing);
    }

    /**
     * The same, to which a list to gather into is another operation than one tensor.
     *
     * @return a copy
     */
    public Capabilities withListsGatheredApart() {
        return new Capabilities(
                nonBlockingCollectives,
                largestTag,
                anySource,
                reducesListsApart,
                true,
                splits,
                shrinks,
                missing);
    }

    /**
     * The same, which can be split.
     *
     * @return a copy
     */
    public Capabilities withSplits() {
        return new Capabilities(
                nonBlockingCollectives,
                largestTag,
                anySource,
                reducesListsApart,
                gathersListsApart,
                true,
                shrinks,
                missing);
    }

    /**
     * The same, whose library ends with the first rank that is lost.
     *
     * @return a copy
     */
    public Capabilities withoutShrinking() {
        return new Capabilities(
                nonBlockingCollectives,
                largestTag,
                anySource,
                reducesListsApart,
                gathersListsApart,
                splits,
                false,
                missing);
    }

    /**
     * The same without some operations.
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
        return new Capabilities(
                nonBlockingCollectives,
                largestTag,
                anySource,
                reducesListsApart,
                gathersListsApart,
                splits,
                shrinks,
                more);
    }
}

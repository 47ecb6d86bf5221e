package org.jccl;

import java.time.Instant;
import java.util.Optional;

/**
 * An operation of a group, as a {@link GroupListener} is told of it. All that a listener is told of
 * one operation has equal infos.
 *
 * @param group the group and backend that runs it
 * @param name what was called, by the method's name without the kind of call: {@code allReduce} for
 *     {@code allReduce} and {@code sync().allReduce} of one or more tensors; one of about a dozen
 * @param collective whether all ranks of the group take part; false for a message, whose name is
 *     {@code send} or {@code recv}
 * @param sequence position among the group's collectives, from 0 and the same on all its ranks, or
 *     among the messages with one peer and tag; -1 for a receive from any source
 * @param peer root, or the rank that a message goes to or comes from; -1 where there is none
 * @param type of the elements; empty for a barrier
 * @param bytes size of this rank's tensor, where input and output differ of the larger one: what
 *     {@code jccl bench} and nccl-tests call the size; 0 for a barrier
 * @param issued when this rank handed it to the library, by the clock of this host
 */
public record OperationInfo(
        GroupInfo group,
        String name,
        boolean collective,
        long sequence,
        int peer,
        Optional<DataType> type,
        long bytes,
        Instant issued) {

    /**
     * Checks the arguments.
     *
     * @param group that runs it
     * @param name of the method
     * @param collective whether all ranks take part
     * @param sequence its position
     * @param peer root or other side
     * @param type of the elements
     * @param bytes its size
     * @param issued when it began
     * @throws UsageException when an argument is null
     */
    public OperationInfo {
        Given.notNull(group, "group");
        Given.notNull(name, "name");
        Given.notNull(type, "type");
        Given.notNull(issued, "issued");
    }
}

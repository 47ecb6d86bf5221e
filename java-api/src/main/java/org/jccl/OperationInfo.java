package org.jccl;

import java.time.Instant;
import java.util.Optional;

/**
 * An operation of a group, for a {@link GroupListener}. All events of one operation have equal
 * infos.
 *
 * @param group the group and backend that runs it
 * @param name the name of the method. It is {@code allReduce} for {@code allReduce} and {@code
 *     sync().allReduce} of one or more tensors. There are about a dozen names
 * @param collective whether all ranks of the group take part; false for a message, whose name is
 *     {@code send} or {@code recv}
 * @param sequence position among the collectives of the group, from 0 and the same on all its
 *     ranks, or among the sends and receives with one peer and tag; -1 for a receive from any
 *     source
 * @param peer the root, or the rank on the other side of a message; -1 if there is none
 * @param type element type; empty for a barrier
 * @param bytes size of the tensor of this rank, or the larger one of input and output: the size
 *     that {@code jccl bench} and nccl-tests report; 0 for a barrier
 * @param issued when this rank passed it to the library, by the clock of this host
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
     * @param group the group that runs it
     * @param name the name of the method
     * @param collective whether all ranks take part
     * @param sequence its position
     * @param peer the root or other side
     * @param type element type
     * @param bytes its size
     * @param issued when it began
     * @throws UsageException if an argument is null
     */
    public OperationInfo {
        UsageException.nonNull(group, "group");
        UsageException.nonNull(name, "name");
        UsageException.nonNull(type, "type");
        UsageException.nonNull(issued, "issued");
    }
}

package org.jccl.spi;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jccl.DataType;

/**
 * The sends and receives of one batch, retained until it ends, for libraries that can not start
 * messages together or take them as one list. Not safe for use by several threads.
 */
public final class MessageBatch {

    /**
     * One message.
     *
     * @param receives whether this rank receives it
     * @param address of the elements
     * @param count number of elements
     * @param type element type
     * @param peer rank of the other side
     */
    public record Message(boolean receives, long address, long count, DataType type, int peer) {}

    private final List<Message> messages = new ArrayList<>();

    /** Creates an empty batch. */
    public MessageBatch() {}

    /**
     * Adds a message.
     *
     * @param message of this rank
     */
    public void add(Message message) {
        messages.add(message);
    }

    /**
     * Takes all messages; the batch is empty afterwards.
     *
     * @return the messages in the order in which they were added
     */
    public List<Message> take() {
        List<Message> taken = List.copyOf(messages);
        messages.clear();
        return taken;
    }

    /**
     * Takes the messages in an order that can not deadlock, even if each send waits for its
     * receive: each rank goes through its peers in ascending order, and the lower rank of a pair
     * sends first.
     *
     * @param rank this one
     * @return the messages; those with one peer and direction keep their order
     */
    public List<Message> takeOrdered(int rank) {
        List<Message> ordered = new ArrayList<>(take());
        ordered.sort(
                Comparator.comparingInt(Message::peer)
                        .thenComparing(message -> message.receives == rank < message.peer));
        return ordered;
    }
}

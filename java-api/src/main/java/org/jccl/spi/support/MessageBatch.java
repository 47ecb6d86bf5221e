package org.jccl.spi.support;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jccl.DataType;

/**
 * The sends and receives of one batch, for libraries that cannot start messages together or take
 * them as a list. Not thread-safe.
 */
public final class MessageBatch {

    /**
     * One message.
     *
     * @param receives whether this rank receives it
     * @param address the elements
     * @param count number of elements
     * @param type element type
     * @param peer the rank of the other side
     */
    public record Message(boolean receives, long address, long count, DataType type, int peer) {}

    private final List<Message> messages = new ArrayList<>();

    /** Creates an empty batch. */
    public MessageBatch() {}

    /**
     * Adds a message.
     *
     * @param message a message of this rank
     */
    public void add(Message message) {
        messages.add(message);
    }

    /**
     * Removes and returns all messages.
     *
     * @return the messages in the order in which they were added
     */
    public List<Message> take() {
        List<Message> taken = List.copyOf(messages);
        messages.clear();
        return taken;
    }

    /**
     * Removes and returns all messages in an order that cannot deadlock, even if each send waits
     * for its receive: each rank goes through its peers in ascending order, and the lower rank of a
     * pair sends first.
     *
     * @param rank this rank
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

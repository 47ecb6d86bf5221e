package org.jccl.hccl;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jccl.DataType;

/** The messages of a batch, kept until it ends. */
final class Messages {

    private record Message(boolean receive, long address, long count, DataType type, int peer) {}

    private final List<Message> messages = new ArrayList<>();

    void add(boolean receive, long address, long count, DataType type, int peer) {
        messages.add(new Message(receive, address, count, type, peer));
    }

    int count() {
        return messages.size();
    }

    boolean isReceive(int index) {
        return messages.get(index).receive;
    }

    long address(int index) {
        return messages.get(index).address;
    }

    long elements(int index) {
        return messages.get(index).count;
    }

    DataType type(int index) {
        return messages.get(index).type;
    }

    int peer(int index) {
        return messages.get(index).peer;
    }

    void clear() {
        messages.clear();
    }

    /**
     * Issues them one after the other. All ranks go through the pairs of ranks in one order, and
     * first from the lower to the higher rank, so that none waits for one that waits for it.
     */
    void issueInOrder(HcclCalls calls, int rank) {
        messages.sort(
                Comparator.<Message>comparingInt(message -> Math.min(rank, message.peer))
                        .thenComparingInt(message -> Math.max(rank, message.peer))
                        .thenComparing(message -> message.receive == rank < message.peer));
        for (Message message : messages) {
            if (message.receive) {
                calls.receive(message.address, message.count, message.type, message.peer);
            } else {
                calls.send(message.address, message.count, message.type, message.peer);
            }
        }
    }
}

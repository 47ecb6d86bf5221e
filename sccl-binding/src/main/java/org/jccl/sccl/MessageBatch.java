package org.jccl.sccl;

import java.util.ArrayList;
import java.util.List;
import org.jccl.DataType;

/**
 * Messages that are issued together. SCCL has no groups: a send may wait for its receive, and then
 * two ranks that both begin with their send wait for good. So each rank goes through its peers from
 * the lowest, and of a pair the lower rank sends first.
 */
final class MessageBatch {

    private record Message(boolean sent, long address, long count, DataType type, int peer) {}

    private final ScclCalls calls;
    private final int rank;
    private final List<Message> messages = new ArrayList<>();

    MessageBatch(ScclCalls calls, int rank) {
        this.calls = calls;
        this.rank = rank;
    }

    void send(long address, long count, DataType type, int peer) {
        messages.add(new Message(true, address, count, type, peer));
    }

    void receive(long address, long count, DataType type, int peer) {
        messages.add(new Message(false, address, count, type, peer));
    }

    /** Issues all in an order that fits that of the peers. */
    void issue(TpuQueue queue) {
        for (int peer = 0; peer < calls.size; peer++) {
            boolean sendFirst = rank < peer;
            issue(queue, peer, sendFirst);
            issue(queue, peer, !sendFirst);
        }
        messages.clear();
    }

    private void issue(TpuQueue queue, int peer, boolean sent) {
        for (Message message : messages) {
            if (message.peer == peer && message.sent == sent) {
                if (sent) {
                    calls.send(queue, message.address, message.count, message.type, peer);
                } else {
                    calls.receive(queue, message.address, message.count, message.type, peer);
                }
            }
        }
    }
}

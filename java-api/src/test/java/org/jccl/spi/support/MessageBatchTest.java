package org.jccl.spi.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import org.jccl.DataType;
import org.jccl.spi.support.MessageBatch.Message;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MessageBatchTest {

    private static Message message(boolean receives, long address, int peer) {
        return new Message(receives, address, 1, DataType.INT32, peer);
    }

    @Test
    void takesMessagesAsTheyWereAddedAndIsEmptyThen() {
        MessageBatch batch = new MessageBatch();
        List<Message> added = List.of(message(true, 8, 3), message(false, 16, 1));
        added.forEach(batch::add);
        assertThat(batch.take()).isEqualTo(added);
        assertThat(batch.take()).isEmpty();
        assertThat(batch.takeOrdered(0)).isEmpty();
    }

    /** A send and its receive both block, so a pair proceeds only when both are the next. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void orderOfAllRanksHasNoDeadlock(long seed) {
        Random random = new Random(seed);
        int size = 2 + random.nextInt(5);
        List<MessageBatch> batches = new ArrayList<>();
        List<List<Message>> added = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            batches.add(new MessageBatch());
            added.add(new ArrayList<>());
        }
        for (int i = 0; i < 40; i++) {
            int from = random.nextInt(size);
            int to = (from + 1 + random.nextInt(size - 1)) % size;
            added.get(from).add(message(false, i, to));
            added.get(to).add(message(true, i, from));
        }
        List<Queue<Message>> queues = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            added.get(rank).forEach(batches.get(rank)::add);
            queues.add(new ArrayDeque<>(batches.get(rank).takeOrdered(rank)));
        }
        while (matchOne(queues)) {
            continue;
        }
        assertThat(queues).allMatch(Queue::isEmpty);
    }

    private static boolean matchOne(List<Queue<Message>> queues) {
        List<Integer> ranks = new ArrayList<>();
        for (int rank = 0; rank < queues.size(); rank++) {
            ranks.add(rank);
        }
        Collections.shuffle(ranks, new Random(queues.size()));
        for (int rank : ranks) {
            Message next = queues.get(rank).peek();
            Message other = next == null ? null : queues.get(next.peer()).peek();
            if (other != null && other.peer() == rank && other.receives() != next.receives()) {
                // Messages of a pair arrive in the order in which they were sent.
                assertThat(other.address()).isEqualTo(next.address());
                queues.get(rank).remove();
                queues.get(next.peer()).remove();
                return true;
            }
        }
        return false;
    }
}

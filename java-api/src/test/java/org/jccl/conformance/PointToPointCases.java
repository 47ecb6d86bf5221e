package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jccl.Batch;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** send, recv, recvAnySource and batches. */
abstract class PointToPointCases extends Cases {

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void everyPairExchangesEveryType(int size) {
        onRanks(
                size,
                rank -> {
                    for (DataType type : DataType.values()) {
                        for (int count : COUNTS) {
                            exchangeWithAll(rank, type, count);
                        }
                    }
                    exchangeWithAll(rank, DataType.FLOAT32, LARGE);
                });
    }

    private static void exchangeWithAll(Rank rank, DataType type, int count) {
        List<Work> works = new ArrayList<>();
        List<Tensor> received = new ArrayList<>();
        for (int peer = 0; peer < rank.size(); peer++) {
            Tensor tensor = rank.blank(type, count);
            received.add(tensor);
            if (peer != rank.rank()) {
                byte[] elements = Elements.pattern(type, rank.rank() * 10L + peer, count);
                works.add(rank.group().send(rank.bytes(type, elements), peer));
                works.add(rank.group().recv(tensor, peer));
            }
        }
        works.forEach(Work::await);
        for (int peer = 0; peer < rank.size(); peer++) {
            if (peer != rank.rank()) {
                byte[] expected = Elements.pattern(type, peer * 10L + rank.rank(), count);
                rank.expect(received.get(peer), expected, "from " + peer + ", " + type);
            }
        }
    }

    @Test
    void bothFormsMeetEachOther() {
        onRanks(
                2,
                rank -> {
                    for (Forms sender : Forms.of(rank.group())) {
                        for (Forms receiver : Forms.of(rank.group())) {
                            for (int count : new int[] {0, 3, LARGE}) {
                                Tensor tensor = rank.filled(count, 7);
                                if (rank.rank() == 0) {
                                    sender.send(tensor, 1, 3);
                                } else {
                                    Tensor got = rank.blank(DataType.FLOAT32, count);
                                    receiver.recv(got, 0, 3);
                                    rank.expect(got, rank.backend().read(tensor), "message");
                                }
                            }
                        }
                    }
                });
    }

    @Test
    void tagsKeepMessagesApartInAnyOrder() {
        int messages = 20;
        onRanks(
                2,
                rank -> {
                    int peer = 1 - rank.rank();
                    List<Work> sent = new ArrayList<>();
                    for (int tag = 0; tag < messages; tag++) {
                        sent.add(rank.group().send(rank.floats(tag, 100 + tag), peer, tag));
                    }
                    for (int tag = messages - 1; tag >= 0; tag--) {
                        Tensor got = rank.blank(DataType.FLOAT32, 2);
                        rank.group().recv(got, peer, tag).await();
                        rank.expect(got, new long[] {tag, 100 + tag}, "tag " + tag);
                    }
                    sent.forEach(Work::await);
                });
    }

    @Test
    void messagesOfOneTagArriveInOrder() {
        int messages = 50;
        onRanks(
                2,
                rank -> {
                    int peer = 1 - rank.rank();
                    List<Work> works = new ArrayList<>();
                    List<Tensor> got = new ArrayList<>();
                    for (int i = 0; i < messages; i++) {
                        got.add(rank.blank(DataType.INT32, 1));
                        Work send = rank.group().send(rank.tensor(DataType.INT32, i), peer, 5);
                        Work receive = rank.group().recv(got.get(i), peer, 5);
                        assertThat(send.sequence()).isEqualTo(i);
                        assertThat(receive.sequence()).isEqualTo(i);
                        works.add(send);
                        works.add(receive);
                    }
                    works.forEach(Work::await);
                    for (int i = 0; i < messages; i++) {
                        rank.expect(got.get(i), new long[] {i}, "message " + i);
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void anySourceTellsWhoSent(int size) {
        onRanks(
                size,
                rank -> {
                    if (rank.rank() > 0) {
                        rank.group().send(rank.floats(10 + rank.rank()), 0, 4).await();
                        rank.group().sync().send(rank.floats(20 + rank.rank()), 0, 6);
                        return;
                    }
                    Set<Integer> sources = new HashSet<>();
                    for (int i = 1; i < size; i++) {
                        Tensor got = rank.blank(DataType.FLOAT32, 1);
                        Work work = rank.group().recvAnySource(got, 4);
                        work.await();
                        rank.expect(got, new long[] {10 + work.sourceRank()}, "asynchronous");
                        sources.add(work.sourceRank());
                    }
                    assertThat(sources).hasSize(size - 1).doesNotContain(0, -1);
                    for (int i = 1; i < size; i++) {
                        Tensor got = rank.blank(DataType.FLOAT32, 1);
                        int source = rank.group().sync().recvAnySource(got, 6);
                        rank.expect(got, new long[] {20 + source}, "synchronous");
                        sources.remove(source);
                    }
                    assertThat(sources).isEmpty();
                });
    }

    @Test
    void receivedWorksKnowTheirSourceAndOthersDoNot() {
        onRanks(
                3,
                rank -> {
                    int to = (rank.rank() + 1) % 3;
                    int from = (rank.rank() + 2) % 3;
                    Work send = rank.group().send(rank.floats(1), to);
                    Work receive = rank.group().recv(rank.floats(0), from);
                    receive.await();
                    send.await();
                    assertThat(receive.sourceRank()).isEqualTo(from);
                    assertThat(send.sourceRank()).isEqualTo(-1);
                });
    }

    @Test
    void aSendWhoseWorkIsDroppedStillArrives() {
        onRanks(
                2,
                rank -> {
                    if (rank.rank() == 0) {
                        rank.group().send(rank.filled(LARGE, 3), 1, 1);
                        rank.signal("sent");
                        // Keeps this rank in the group until the message is there.
                        rank.awaitSignal("received");
                    } else {
                        rank.awaitSignal("sent");
                        Tensor got = rank.blank(DataType.FLOAT32, LARGE);
                        rank.group().recv(got, 0, 1).await();
                        rank.signal("received");
                        rank.expect(got, rank.backend().read(rank.filled(LARGE, 3)), "dropped");
                    }
                });
    }

    @Test
    void messagesRunBesideACollective() {
        onRanks(
                2,
                rank -> {
                    Tensor sum = rank.floats(1);
                    Tensor got = rank.blank(DataType.FLOAT32, 1);
                    if (rank.rank() == 0) {
                        Work reduction = rank.group().allReduce(sum, ReduceOp.SUM);
                        rank.group().send(rank.floats(9), 1).await();
                        reduction.await();
                    } else {
                        rank.group().recv(got, 0).await();
                        rank.group().allReduce(sum, ReduceOp.SUM).await();
                        rank.expect(got, new long[] {9}, "message");
                    }
                    rank.expect(sum, new long[] {2}, "sum");
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void aBatchOfMessagesMakesARing(int size) {
        onRanks(
                size,
                rank -> {
                    int to = (rank.rank() + 1) % size;
                    int from = (rank.rank() + size - 1) % size;
                    Tensor got = rank.blank(DataType.FLOAT32, LARGE);
                    List<Work> works =
                            rank.group()
                                    .batch()
                                    .send(rank.filled(LARGE, rank.rank()), to, 0)
                                    .recv(got, from, 0)
                                    .issue();
                    assertThat(works).hasSize(2);
                    works.forEach(Work::await);
                    rank.expect(got, rank.backend().read(rank.filled(LARGE, from)), "ring");
                });
    }

    @Test
    void aBatchTakesCollectivesToo() {
        onRanks(
                2,
                rank -> {
                    Tensor sum = rank.floats(1, 2);
                    Tensor copy = rank.floats(rank.rank() + 5);
                    Tensor all = rank.blank(DataType.FLOAT32, 2);
                    Tensor part = rank.blank(DataType.FLOAT32, 1);
                    rank.group()
                            .batch()
                            .allReduce(sum, ReduceOp.SUM)
                            .broadcast(copy, 1)
                            .allGatherSingle(all, rank.floats(rank.rank()))
                            .reduceScatterSingle(part, rank.floats(3, 4), ReduceOp.SUM)
                            .issue()
                            .forEach(Work::await);
                    rank.expect(sum, new long[] {2, 4}, "allReduce");
                    rank.expect(copy, new long[] {6}, "broadcast");
                    rank.expect(all, new long[] {0, 1}, "allGatherSingle");
                    rank.expect(part, new long[] {6 + 2 * rank.rank()}, "reduceScatterSingle");
                });
    }

    @Test
    void aBatchIsIssuedOnceAndNotEmpty() {
        onRanks(
                2,
                rank -> {
                    assertThatThrownBy(() -> rank.group().batch().issue())
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("empty");
                    Batch batch = rank.group().batch();
                    assertThatThrownBy(() -> batch.send(rank.floats(1), 7, 0))
                            .isInstanceOf(UsageException.class);
                    batch.allReduce(rank.floats(1), ReduceOp.SUM).issue().forEach(Work::await);
                    assertThatThrownBy(batch::issue).isInstanceOf(UsageException.class);
                    assertThatThrownBy(() -> batch.broadcast(rank.floats(1), 0))
                            .isInstanceOf(UsageException.class);
                });
    }
}

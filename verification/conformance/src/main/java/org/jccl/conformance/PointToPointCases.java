package org.jccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.Batch;
import org.jccl.DataType;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** send, recv, recvAnySource and batches. */
@Needs(Capability.MESSAGES)
abstract class PointToPointCases extends Cases {

    private interface Exchange {
        /** Sends to each peer what it expects, and receives from each into its tensor. */
        void run(Rank rank, List<Tensor> toPeers, List<Tensor> fromPeers);
    }

    private static void everyTypeAndCount(Rank rank, Exchange exchange) {
        for (DataType type : DataType.values()) {
            for (int count : counts(type)) {
                check(rank, type, count, exchange);
            }
        }
        check(rank, DataType.FLOAT32, LARGE, exchange);
    }

    private static void check(Rank rank, DataType type, int count, Exchange exchange) {
        List<Tensor> toPeers = new ArrayList<>();
        List<Tensor> fromPeers = new ArrayList<>();
        for (int peer = 0; peer < rank.size(); peer++) {
            toPeers.add(rank.bytes(type, message(type, rank.rank(), peer, count)));
            fromPeers.add(rank.blank(type, count));
        }
        exchange.run(rank, toPeers, fromPeers);
        for (int peer = 0; peer < rank.size(); peer++) {
            if (peer != rank.rank()) {
                byte[] expected = message(type, peer, rank.rank(), count);
                rank.expect(fromPeers.get(peer), expected, "from " + peer + ", " + type);
            }
        }
    }

    private static byte[] message(DataType type, int from, int to, int count) {
        return Elements.pattern(type, from * 10L + to, count);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    @Needs(Capability.ANY_ORDER)
    void everyPairExchangesEveryType(int size) {
        onRanks(size, rank -> everyTypeAndCount(rank, PointToPointCases::atOnce));
    }

    private static void atOnce(Rank rank, List<Tensor> toPeers, List<Tensor> fromPeers) {
        List<Work> works = new ArrayList<>();
        for (int peer = 0; peer < rank.size(); peer++) {
            if (peer != rank.rank()) {
                works.add(rank.group().send(toPeers.get(peer), peer));
                works.add(rank.group().recv(fromPeers.get(peer), peer));
            }
        }
        works.forEach(Work::await);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3})
    void pairsTakeTurnsWithEveryType(int size) {
        onRanks(size, rank -> everyTypeAndCount(rank, PointToPointCases::inTurn));
    }

    /** In one order on all ranks, and not awaited before the end. */
    private static void inTurn(Rank rank, List<Tensor> toPeers, List<Tensor> fromPeers) {
        List<Work> works = new ArrayList<>();
        for (int from = 0; from < rank.size(); from++) {
            for (int to = 0; to < rank.size(); to++) {
                if (from != to && from == rank.rank()) {
                    works.add(rank.group().send(toPeers.get(to), to));
                } else if (from != to && to == rank.rank()) {
                    works.add(rank.group().recv(fromPeers.get(from), from));
                }
            }
        }
        works.forEach(Work::await);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    void aBatchExchangesEveryTypeWithEveryPeer(int size) {
        onRanks(size, rank -> everyTypeAndCount(rank, PointToPointCases::asBatch));
    }

    private static void asBatch(Rank rank, List<Tensor> toPeers, List<Tensor> fromPeers) {
        Batch batch = rank.group().batch();
        for (int peer = 0; peer < rank.size(); peer++) {
            if (peer != rank.rank()) {
                batch.send(toPeers.get(peer), peer, 0);
                batch.recv(fromPeers.get(peer), peer, 0);
            }
        }
        batch.issue().forEach(Work::await);
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
                                    sender.send(tensor, 1, rank.tag(3));
                                } else {
                                    Tensor got = rank.blank(DataType.FLOAT32, count);
                                    receiver.recv(got, 0, rank.tag(3));
                                    rank.expect(got, rank.backend().read(tensor), "message");
                                }
                            }
                        }
                    }
                });
    }

    @Test
    @Needs(Capability.TAGS)
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
    @Needs(Capability.TAGS)
    void theLargestTagIsTakenAndALargerOneRefusedBeforeItIsSent() {
        onRanks(
                2,
                rank -> {
                    int peer = 1 - rank.rank();
                    int largest = Integer.MAX_VALUE;
                    Tensor got = rank.blank(DataType.INT32, 1);
                    try {
                        Work received = rank.group().recv(got, peer, largest);
                        rank.group().send(rank.tensor(DataType.INT32, 1), peer, largest).await();
                        received.await();
                    } catch (UsageException e) {
                        Matcher told = Pattern.compile("at most (\\d+) on").matcher(e.getMessage());
                        assertThat(told.find()).as(e.getMessage()).isTrue();
                        largest = Integer.parseInt(told.group(1));
                    }
                    // The group goes on.
                    Work received = rank.group().recv(got, peer, largest);
                    rank.group().send(rank.tensor(DataType.INT32, 7), peer, largest).await();
                    received.await();
                    rank.expect(got, new long[] {7}, "tag " + largest);
                });
    }

    @Tag(ConformanceTest.NEW_WORLD)
    @Test
    void messagesOfOneTagArriveInOrder() {
        int messages = 50;
        onRanks(
                2,
                rank -> {
                    List<Work> works = new ArrayList<>();
                    List<Tensor> tensors = new ArrayList<>();
                    for (int i = 0; i < messages; i++) {
                        tensors.add(rank.tensor(DataType.INT32, rank.rank() == 0 ? i : -1));
                        works.add(
                                rank.rank() == 0
                                        ? rank.group().send(tensors.get(i), 1, rank.tag(5))
                                        : rank.group().recv(tensors.get(i), 0, rank.tag(5)));
                        assertThat(works.get(i).sequence()).isEqualTo(i);
                    }
                    works.forEach(Work::await);
                    for (int i = 0; i < messages; i++) {
                        rank.expect(tensors.get(i), new long[] {i}, "message " + i);
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 5})
    @Needs({Capability.TAGS, Capability.ANY_SOURCE})
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
                    List<Work> works =
                            rank.group()
                                    .batch()
                                    .send(rank.floats(1), to, 0)
                                    .recv(rank.floats(0), from, 0)
                                    .issue();
                    works.forEach(Work::synchronize);
                    assertThat(works.get(0).sourceRank()).isEqualTo(-1);
                    assertThat(works.get(1).sourceRank()).isEqualTo(from);
                });
    }

    @Test
    void whatMessagesHaveNotIsRefused() {
        onRanks(
                2,
                rank -> {
                    int peer = 1 - rank.rank();
                    if (!rank.has(Capability.TAGS)) {
                        for (Forms form : Forms.of(rank.group())) {
                            assertThatThrownBy(() -> form.send(rank.floats(1), peer, 1))
                                    .isInstanceOf(UsageException.class)
                                    .hasMessageContaining("no tags");
                            assertThatThrownBy(() -> form.recv(rank.floats(1), peer, 1))
                                    .isInstanceOf(UsageException.class)
                                    .hasMessageContaining("no tags");
                        }
                    }
                    if (!rank.has(Capability.ANY_SOURCE)) {
                        assertThatThrownBy(() -> rank.group().recvAnySource(rank.floats(1)))
                                .isInstanceOf(UsageException.class)
                                .hasMessageContaining("cannot receive from any peer");
                    }
                    rank.group().sync().barrier();
                });
    }

    @Test
    void aSendWhoseWorkIsDroppedStillArrives() {
        onRanks(
                2,
                rank -> {
                    // A library may hold the first message between two ranks until both are there.
                    if (rank.rank() == 0) {
                        rank.group().send(rank.floats(1), 1, rank.tag(1)).await();
                    } else {
                        Tensor first = rank.blank(DataType.FLOAT32, 1);
                        rank.group().recv(first, 0, rank.tag(1)).await();
                    }
                    if (rank.rank() == 0) {
                        rank.group().send(rank.filled(LARGE, 3), 1, rank.tag(1));
                        rank.signal("sent");
                        // Keeps this rank in the group until the message is there.
                        rank.awaitSignal("received");
                    } else {
                        rank.awaitSignal("sent");
                        Tensor got = rank.blank(DataType.FLOAT32, LARGE);
                        rank.group().recv(got, 0, rank.tag(1)).await();
                        rank.signal("received");
                        rank.expect(got, rank.backend().read(rank.filled(LARGE, 3)), "dropped");
                    }
                });
    }

    @Test
    @Needs(Capability.ANY_ORDER)
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

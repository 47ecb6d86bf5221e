package org.jccl.internal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class MessageCountersTest {

    private static final int PEERS = 40;
    private static final int TAGS = 50;

    private final MessageCounters counters = new MessageCounters();

    @Test
    void eachPeerTagAndDirectionCountsOnItsOwn() {
        for (int round = 0; round < 3; round++) {
            for (int peer = 0; peer < PEERS; peer++) {
                for (int tag = 0; tag < TAGS; tag++) {
                    assertThat(counters.next(OperationKind.SEND, peer, tag)).isEqualTo(round);
                }
            }
        }
        assertThat(counters.next(OperationKind.RECV, 0, 0)).isZero();
        assertThat(counters.next(OperationKind.SEND, PEERS, 0)).isZero();
    }

    @Test
    void takesTheLargestPeerAndTag() {
        int largest = Integer.MAX_VALUE;
        assertThat(counters.next(OperationKind.SEND, largest / 2, largest)).isZero();
        assertThat(counters.next(OperationKind.SEND, largest / 2, largest)).isEqualTo(1);
        assertThat(counters.next(OperationKind.SEND, largest / 2, largest - 1)).isZero();
        assertThat(counters.next(OperationKind.SEND, largest / 2 - 1, largest)).isZero();
    }
}

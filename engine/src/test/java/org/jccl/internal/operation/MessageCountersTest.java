package org.jccl.internal.operation;

import static org.assertj.core.api.Assertions.assertThat;

import org.jccl.spi.OperationKind;
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
    void programsThatMakeUpTagsDoNotFillTheMemory() {
        int tags = 1 << 20;
        long numbered = 0;
        for (int tag = 0; tag < tags; tag++) {
            numbered += counters.next(OperationKind.SEND, 1, tag) == MessageCounters.NONE ? 0 : 1;
        }
        assertThat(numbered).isEqualTo(1 << 16);
        assertThat(counters.next(OperationKind.SEND, 1, tags - 1)).isEqualTo(MessageCounters.NONE);
        assertThat(counters.next(OperationKind.SEND, 1, 0)).as("an early tag").isEqualTo(1);
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

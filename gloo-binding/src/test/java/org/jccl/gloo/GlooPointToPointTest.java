package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.spi.Communicator.ANY_SOURCE;

import java.lang.ref.Reference;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jccl.DataType;
import org.jccl.UsageException;
import org.junit.jupiter.api.Test;

class GlooPointToPointTest {

    private static final DataType TYPE = DataType.INT32;

    private static Memory of(int value) {
        Memory memory = Memory.bytes(Integer.BYTES);
        memory.bytes.putInt(0, value);
        return memory;
    }

    @Test
    void tagsTellMessagesApart() throws Exception {
        List<Integer> results =
                Ranks.run(
                        2,
                        (rank, communicator) -> {
                            if (rank == 0) {
                                Memory one = of(1);
                                Memory two = of(2);
                                long first = communicator.send(one.address, 1, TYPE, 1, 7);
                                long second =
                                        communicator.send(
                                                two.address, 1, TYPE, 1, Integer.MAX_VALUE);
                                assertThat(communicator.await(first)).isEqualTo(-1);
                                assertThat(communicator.await(second)).isEqualTo(-1);
                                return 0;
                            }
                            Memory x = of(0);
                            Memory y = of(0);
                            communicator.await(
                                    communicator.recv(x.address, 1, TYPE, 0, Integer.MAX_VALUE));
                            communicator.await(communicator.recv(y.address, 1, TYPE, 0, 7));
                            return x.bytes.getInt(0) * 10 + y.bytes.getInt(0);
                        });
        assertThat(results).containsExactly(0, 21);
    }

    @Test
    void testDoesNotConsumeTheRequest() throws Exception {
        Ranks.run(
                2,
                (rank, communicator) -> {
                    Memory memory = of(rank);
                    if (rank == 0) {
                        communicator.barrier();
                        communicator.await(communicator.send(memory.address, 1, TYPE, 1, 0));
                        return null;
                    }
                    long request = communicator.recv(memory.address, 1, TYPE, 0, 0);
                    assertThat(communicator.test(request)).isFalse();
                    communicator.barrier();
                    while (!communicator.test(request)) {
                        Thread.onSpinWait();
                    }
                    assertThat(communicator.test(request)).isTrue();
                    assertThat(communicator.await(request)).isZero();
                    assertThat(memory.bytes.getInt(0)).isZero();
                    assertThatThrownBy(() -> communicator.await(request))
                            .isInstanceOf(UsageException.class)
                            .hasMessageContaining("awaited before");
                    communicator.abort();
                    return null;
                });
    }

    @Test
    void receivesFromAnybody() throws Exception {
        Ranks.run(
                4,
                (rank, communicator) -> {
                    if (rank != 0) {
                        Memory message = of(rank * 100);
                        communicator.await(communicator.send(message.address, 1, TYPE, 0, 3));
                        Reference.reachabilityFence(message);
                        return null;
                    }
                    Set<Integer> sources = new HashSet<>();
                    for (int i = 1; i < 4; i++) {
                        Memory memory = of(-1);
                        int source =
                                communicator.await(
                                        communicator.recv(memory.address, 1, TYPE, ANY_SOURCE, 3));
                        assertThat(memory.bytes.getInt(0)).isEqualTo(source * 100);
                        sources.add(source);
                    }
                    assertThat(sources).containsExactlyInAnyOrder(1, 2, 3);
                    return null;
                });
    }

    @Test
    void aThousandOutstandingMessages() throws Exception {
        int count = 1000;
        Ranks.run(
                2,
                (rank, communicator) -> {
                    Memory[] memory = new Memory[count];
                    long[] requests = new long[count];
                    for (int i = 0; i < count; i++) {
                        memory[i] = of(rank == 0 ? i : -1);
                        requests[i] =
                                rank == 0
                                        ? communicator.send(memory[i].address, 1, TYPE, 1, i)
                                        : communicator.recv(memory[i].address, 1, TYPE, 0, i);
                    }
                    for (int i = count - 1; i >= 0; i--) {
                        communicator.await(requests[i]);
                        assertThat(memory[i].bytes.getInt(0)).isEqualTo(i);
                    }
                    communicator.barrier();
                    return null;
                });
    }
}

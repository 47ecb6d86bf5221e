package org.jccl.sccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.jccl.Batch;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Tensor;
import org.jccl.UsageException;
import org.jccl.Work;
import org.jccl.conformance.Elements;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages, which the suite tests with tags that SCCL does not have. */
final class MessageTest {

    private static final int COUNT = 300;

    private static Tensor bytes(Device device, DataType type, byte[] elements) {
        Tensor tensor = Tensor.allocate(device, type, elements.length / type.size());
        raw(tensor).copyFrom(elements);
        return tensor;
    }

    private static Tensor raw(Tensor tensor) {
        return Tensor.of(
                tensor.address(), tensor.byteSize(), DataType.UINT8, tensor.device(), tensor);
    }

    private static byte[] pattern(DataType type, int from, int to) {
        return Elements.pattern(type, 31L * from + to, COUNT);
    }

    @Test
    void aMessageArrivesInEveryType() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    for (DataType type : DataType.values()) {
                        byte[] elements = pattern(type, 0, 1);
                        byte[] start = group.rank() == 0 ? elements : new byte[elements.length];
                        try (Tensor tensor = bytes(device, type, start)) {
                            Work work =
                                    group.rank() == 0
                                            ? group.send(tensor, 1)
                                            : group.recv(tensor, 0);
                            work.await();
                            byte[] found = raw(tensor).copyTo(new byte[elements.length]);
                            assertThat(found).as("%s", type).isEqualTo(elements);
                        }
                    }
                });
    }

    /** Sends that wait for their receives would hang here, were they issued in the order given. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4})
    void aBatchExchangesWithAllPeersAtOnce(int size) throws Exception {
        World.run(
                size,
                (group, device) -> {
                    int me = group.rank();
                    Batch batch = group.batch();
                    List<Tensor> received = new ArrayList<>();
                    for (int peer = size - 1; peer >= 0; peer--) {
                        if (peer != me) {
                            DataType type = DataType.FLOAT32;
                            batch.send(bytes(device, type, pattern(type, me, peer)), peer, 0);
                            Tensor to = Tensor.allocate(device, type, COUNT);
                            batch.recv(to, peer, 0);
                            received.add(0, to);
                        }
                    }
                    batch.issue().forEach(Work::await);
                    for (int peer = 0; peer < size; peer++) {
                        if (peer != me) {
                            Tensor got = received.remove(0);
                            assertThat(raw(got).copyTo(new byte[4 * COUNT]))
                                    .isEqualTo(pattern(DataType.FLOAT32, peer, me));
                        }
                    }
                });
    }

    @Test
    void messagesWithoutElementsAreNotSent() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor empty = Tensor.allocate(device, DataType.FLOAT32, 0)) {
                        if (group.rank() == 0) {
                            group.send(empty, 1).await();
                        }
                        group.barrier().await();
                    }
                });
    }

    @Test
    void tagsAndAnySourceAreRefused() throws Exception {
        World.run(
                2,
                (group, device) -> {
                    try (Tensor tensor = Tensor.allocate(device, DataType.FLOAT32, 1)) {
                        refused(() -> group.send(tensor, 1 - group.rank(), 3), "no tags");
                        refused(() -> group.recvAnySource(tensor, 0), "peer that is named");
                    }
                });
    }

    private static void refused(Runnable call, String reason) {
        assertThatThrownBy(call::run)
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(reason);
    }
}

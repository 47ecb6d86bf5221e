package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jccl.testing.Patience.enough;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jccl.Availability;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class GlooConnectorTest {

    private static final Duration LONG = enough(Duration.ofMinutes(10));

    @BeforeAll
    static void load() {
        assertThat(new GlooProvider().availability()).isInstanceOf(Availability.Available.class);
    }

    /** As one that is frozen then; others would wait twice, for the mesh and for the barrier. */
    @Test
    void waitingForARankThatStopsBehindItsConnectionsIsPartOfJoining() {
        Store store = HashStore.create(LONG);
        CompletableFuture<GlooCommunicator> connected =
                CompletableFuture.supplyAsync(
                        () -> connectOnly(store), task -> new Thread(task).start());
        CommunicatorConfig config = config(store, enough(Duration.ofSeconds(3)));
        assertThatThrownBy(() -> GlooConnector.connect(config, address -> {}))
                .isInstanceOf(OperationTimeoutException.class);
        connected.join().close();
    }

    /**
     * A rank of an older job may dial a port that is another's by now. It knows its rank, as that
     * is the same in both jobs, but not the number that this listener wants to hear.
     */
    @Test
    void whoMeantAnotherListenerIsNoRankOfThisOne() throws Exception {
        Store store = HashStore.create(LONG);
        CompletableFuture<GlooCommunicator> listening =
                CompletableFuture.supplyAsync(
                        () -> GlooConnector.connect(config(store, LONG), address -> {}),
                        task -> new Thread(task).start());
        AnnouncementFormat format = new OwnAnnouncementFormat();
        store.await(List.of(format.key(0)), LONG);
        Announcement announced = format.decode(store.get(format.key(0)), 2);
        int port = ByteBuffer.wrap(announced.port()).getShort(2) & 0xffff;
        try (SocketChannel stranger =
                SocketChannel.open(new InetSocketAddress("127.0.0.1", port))) {
            ByteBuffer said = ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            stranger.write(said.putLong(0, 1));
            try (GlooCommunicator peer = connectOnly(store)) {
                peer.barrier(LONG);
                assertThat(listening.join()).isNotNull();
            }
        }
        listening.join().close();
    }

    private static CommunicatorConfig config(Store store, Duration joinTimeout) {
        return new CommunicatorConfig(
                "test",
                0,
                2,
                Optional.of(store),
                LONG,
                joinTimeout,
                Device.CPU,
                Interop.NONE,
                Optional.empty(),
                Optional.of(GlooOptions.onHost("127.0.0.1")),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }

    /** Rank 1 of 2, up to the barrier. It dials, as its address is the larger one. */
    private static GlooCommunicator connectOnly(Store store) {
        long handle = GlooNative.create(1, 2, LONG.toMillis(), 0, 0);
        GlooCommunicator communicator = new GlooCommunicator(handle, LONG, false);
        communicator.listen("127.0.0.2", 0);
        byte[] buffer = new byte[1024];
        communicator.address(0, buffer);
        byte[] port = Arrays.copyOf(buffer, Announcement.PORT_BYTES);
        AnnouncementFormat format = new OwnAnnouncementFormat();
        Announcement announcement =
                new Announcement("host", "127.0.0.2", false, port, 0, false, List.of());
        store.set(format.key(1), format.encode(announcement, 2));
        Announcement other = format.decode(store.get(format.key(0)), 2);
        communicator.connect(0, other.endpoint(1), LONG);
        return communicator;
    }
}

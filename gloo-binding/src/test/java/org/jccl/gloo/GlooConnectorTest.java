package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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

    private static final Duration LONG = Duration.ofMinutes(10);

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
        CommunicatorConfig config =
                new CommunicatorConfig(
                        "test",
                        0,
                        2,
                        Optional.of(store),
                        LONG,
                        Duration.ofSeconds(3),
                        Device.CPU,
                        Interop.NONE,
                        Optional.of(GlooOptions.onHost("127.0.0.1")),
                        Optional.empty(),
                        List.of());
        assertThatThrownBy(() -> GlooConnector.connect(config, address -> {}))
                .isInstanceOf(OperationTimeoutException.class);
        connected.join().close();
    }

    /** Rank 1 of 2, up to the barrier. */
    private static GlooCommunicator connectOnly(Store store) {
        long handle = GlooNative.create(1, 2, LONG.toMillis(), 0);
        GlooCommunicator communicator = new GlooCommunicator(handle, LONG, false);
        communicator.listen("127.0.0.1");
        byte[] buffer = new byte[1024];
        communicator.address(0, buffer);
        byte[] port = Arrays.copyOf(buffer, Announcement.PORT_BYTES);
        AnnouncementFormat format = new OwnAnnouncementFormat();
        Announcement announcement = new Announcement("host", "127.0.0.1", false, port, List.of());
        store.set(format.key(1), format.encode(announcement));
        Announcement other = format.decode(store.get(format.key(0)), 2);
        communicator.connect(0, other.place(1), LONG);
        return communicator;
    }
}

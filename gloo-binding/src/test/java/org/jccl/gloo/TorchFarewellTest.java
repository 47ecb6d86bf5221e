package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.Store;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A rank of Java leaves a group at once, while the other one, of PyTorch, may still connect. */
@Tag("all")
class TorchFarewellTest {

    private static final TorchAnnouncementFormat FORMAT = new TorchAnnouncementFormat();

    /** Larger than Java's, so that this side dials. */
    private static final String PYTHON = "127.0.0.2";

    private static CommunicatorConfig config(Store store) {
        return new CommunicatorConfig(
                "test",
                0,
                2,
                Optional.of(store),
                Ranks.TIMEOUT,
                Ranks.TIMEOUT,
                Device.CPU,
                Interop.TORCH,
                Optional.empty(),
                Optional.of(GlooOptions.onHost("127.0.0.1")),
                Optional.empty(),
                List.of(),
                Optional.empty());
    }

    private static byte[] port() {
        return ByteBuffer.allocate(Announcement.PORT_BYTES)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putShort(0, (short) 2)
                .put(4, new byte[] {127, 0, 0, 2})
                .array();
    }

    /** Where Java listens; ports have the network's order of bytes. */
    private static InetSocketAddress addressIn(Announcement announcement) {
        int port = ByteBuffer.wrap(announcement.port()).getShort(2) & 0xffff;
        return new InetSocketAddress(announcement.address(), port);
    }

    @Test
    void aConnectionStaysUntilThePeerHasSpokenAndNoLonger() throws Exception {
        Store store = HashStore.create(Ranks.TIMEOUT);
        CompletableFuture<HostCommunicator> java =
                CompletableFuture.supplyAsync(
                        () -> new GlooProvider().create(config(store)),
                        task -> new Thread(task).start());
        store.await(List.of(FORMAT.key(0)), Ranks.TIMEOUT);
        Announcement theirs = FORMAT.decode(store.get(FORMAT.key(0)), 2);
        Announcement ours =
                new Announcement(theirs.host(), PYTHON, true, port(), 0, false, List.of());
        store.set(FORMAT.key(1), FORMAT.encode(ours, 2));
        try (SocketChannel python = SocketChannel.open(addressIn(theirs))) {
            ByteBuffer number =
                    ByteBuffer.allocate(8)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .putLong(0, theirs.number(1));
            python.write(number);
            java.get().close();
            python.configureBlocking(false);
            assertThat(python.read(ByteBuffer.allocate(1))).as("the end").isZero();

            python.write(ByteBuffer.allocate(1));
            python.configureBlocking(true);
            assertEnds(python);
        }
    }

    /** What Java had not read makes it a reset. */
    private static void assertEnds(SocketChannel channel) {
        try {
            assertThat(channel.read(ByteBuffer.allocate(1))).isEqualTo(-1);
        } catch (IOException e) {
            assertThat(e).hasMessageContaining("reset");
        }
    }
}

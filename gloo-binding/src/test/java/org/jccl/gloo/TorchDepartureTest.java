package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Java gathers from two ranks that speak as PyTorch's do and end as soon as they have done their
 * part, or before.
 */
@Timeout(60)
class TorchDepartureTest {

    private static final TorchAnnouncementFormat FORMAT = new TorchAnnouncementFormat();
    private static final Executor THREAD = task -> new Thread(task).start();

    /** Larger than Java's, so that these ranks dial. */
    private static final String PYTHON = "127.0.0.2";

    private static final int SIZE = 3;

    // A message of gloo: its bytes, kind, slot, offset, length and offset at the receiver.
    private static final int HEADER = 6 * Long.BYTES;
    private static final int SLOT = 2 * Long.BYTES;
    private static final long DATA = 1;
    private static final long SEND_READY = 2;

    private final Memory parts = Memory.bytes(SIZE * Integer.BYTES);
    private final Memory own = Memory.bytes(Integer.BYTES);

    private static CommunicatorConfig config(Store store) {
        return new CommunicatorConfig(
                "test",
                0,
                SIZE,
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

    /** Java, and the ends of the two other ranks. */
    private record World(HostCommunicator java, SocketChannel one, SocketChannel two)
            implements AutoCloseable {

        static World connect() throws Exception {
            Store store = HashStore.create(Ranks.TIMEOUT);
            CompletableFuture<HostCommunicator> java =
                    CompletableFuture.supplyAsync(
                            () -> new GlooProvider().create(config(store)), THREAD);
            store.await(List.of(FORMAT.key(0)), Ranks.TIMEOUT);
            Announcement theirs = FORMAT.decode(store.get(FORMAT.key(0)), SIZE);
            SocketChannel one = dial(store, theirs, 1);
            SocketChannel two = dial(store, theirs, 2);
            return new World(java.get(), one, two);
        }

        private static SocketChannel dial(Store store, Announcement theirs, int rank)
                throws IOException {
            byte[] port =
                    ByteBuffer.allocate(Announcement.PORT_BYTES)
                            .order(ByteOrder.LITTLE_ENDIAN)
                            .putShort(0, (short) 2)
                            .put(4, new byte[] {127, 0, 0, 2})
                            .array();
            Announcement ours =
                    new Announcement(theirs.host(), PYTHON, true, port, 0, false, List.of());
            store.set(FORMAT.key(rank), FORMAT.encode(ours, SIZE));
            int listens = ByteBuffer.wrap(theirs.port()).getShort(2) & 0xffff;
            SocketChannel channel =
                    SocketChannel.open(new InetSocketAddress(theirs.address(), listens));
            channel.write(littleEndian(Long.BYTES).putLong(0, theirs.number(rank)));
            return channel;
        }

        @Override
        public void close() throws IOException {
            one.close();
            two.close();
            java.close();
        }
    }

    private static ByteBuffer littleEndian(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private CompletableFuture<Void> gather(HostCommunicator java) {
        own.bytes.putInt(0, 7);
        return CompletableFuture.runAsync(
                () -> java.gather(own.address, parts.address, 1, DataType.INT32, 0), THREAD);
    }

    /** Waits until Java is ready to receive, sends a number, and ends. */
    private static void doItsPart(SocketChannel rank, int number, boolean reset)
            throws IOException {
        ByteBuffer ready = littleEndian(HEADER);
        while (ready.hasRemaining() && rank.read(ready) >= 0) {
            // The rest comes.
            continue;
        }
        long slot = ready.getLong(SLOT);
        ByteBuffer all = littleEndian(2 * HEADER + Integer.BYTES);
        header(all, HEADER, SEND_READY, slot);
        header(all, HEADER + Integer.BYTES, DATA, slot);
        rank.write(all.putInt(number).flip());
        if (reset) {
            rank.setOption(StandardSocketOptions.SO_LINGER, 0);
        } else {
            rank.shutdownOutput();
            // Java closes its end when it has seen this one.
            assertThat(rank.read(littleEndian(1))).isEqualTo(-1);
        }
        rank.close();
    }

    private static void header(ByteBuffer into, long bytes, long kind, long slot) {
        into.putLong(bytes)
                .putLong(kind)
                .putLong(slot)
                .putLong(0)
                .putLong(Integer.BYTES)
                .putLong(0);
    }

    @RepeatedTest(10)
    void aRankThatHasDoneItsPartMayEnd() throws Exception {
        for (boolean reset : new boolean[] {false, true}) {
            try (World world = World.connect()) {
                CompletableFuture<Void> gathered = gather(world.java());
                doItsPart(world.one(), 1, reset);
                doItsPart(world.two(), 2, reset);
                gathered.get();
                assertThat(parts.ints()).containsExactly(7, 1, 2);
            }
        }
    }

    @Test
    void theRankThatIsMissingIsNamedAndNotOneThatHasDoneItsPart() throws Exception {
        try (World world = World.connect()) {
            CompletableFuture<Void> gathered = gather(world.java());
            doItsPart(world.one(), 1, false);
            world.two().close();
            assertThatThrownBy(gathered::get)
                    .cause()
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("lost rank 2: Connection closed by peer")
                    .satisfies(
                            thrown -> assertThat(((PeerLostException) thrown).peer()).hasValue(2));
        }
    }
}

package org.jccl.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;
import static org.jccl.testing.Patience.expires;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jccl.Store;
import org.jccl.testing.Misuse;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Each call to a store with wrong arguments, open and closed: it succeeds, throws an exception of
 * this library, or waits as long as it was told and ends when the store is closed.
 */
@Tag("all")
final class StoreMisuseTest {

    private static final Duration CONNECTING = enough(Duration.ofSeconds(30));
    private static final Duration TIMEOUT = expires(Duration.ofMillis(5));
    private static final long PATIENCE_MILLIS = 50;
    private static final long DEADLINE_SECONDS = 60;

    @TempDir Path folder;

    private final ExecutorService thread = Executors.newCachedThreadPool();
    private final List<AutoCloseable> made = new ArrayList<>();
    private final List<String> faults = new ArrayList<>();
    private TcpStoreServer server;
    private TcpStore client;
    private int files;

    @BeforeEach
    void serve() {
        server = TcpStoreServer.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        client = TcpStore.connect("127.0.0.1", server.port(), CONNECTING);
    }

    @AfterEach
    void end() {
        client.close();
        server.close();
        thread.shutdownNow();
    }

    private synchronized <T extends AutoCloseable> T kept(T store) {
        made.add(store);
        return store;
    }

    private synchronized void closeAll() throws Exception {
        for (AutoCloseable each : made) {
            each.close();
        }
        made.clear();
    }

    private <T extends AutoCloseable> T closed(T store) throws Exception {
        store.close();
        return store;
    }

    private HashStore hash() {
        return kept(HashStore.create(TIMEOUT));
    }

    private synchronized FileStore file() {
        return kept(FileStore.open(folder.resolve("store" + files++), 2, TIMEOUT));
    }

    private TcpStore tcp() {
        return kept(client.duplicate(TIMEOUT));
    }

    private PrefixStore prefix() {
        return kept(new PrefixStore("x", hash()));
    }

    private TcpStoreServer serving() {
        return kept(TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0)));
    }

    private Misuse misuse() {
        return new Misuse()
                .with(Store.class, rank -> hash(), rank -> closed(hash()))
                .with(HashStore.class, rank -> hash(), rank -> closed(hash()))
                .with(FileStore.class, rank -> file(), rank -> closed(file()))
                .with(TcpStore.class, rank -> tcp(), rank -> closed(tcp()))
                .with(PrefixStore.class, rank -> prefix(), rank -> closed(prefix()))
                .with(TcpStoreServer.class, rank -> serving(), rank -> closed(serving()))
                .with(
                        InetSocketAddress.class,
                        rank -> new InetSocketAddress("127.0.0.1", 0),
                        rank -> InetSocketAddress.createUnresolved("no.such.host.invalid", 1),
                        rank -> new InetSocketAddress("192.0.2.1", 0))
                .with(
                        ServerSocketChannel.class,
                        rank -> kept(ServerSocketChannel.open().bind(null)),
                        rank -> kept(ServerSocketChannel.open()),
                        rank -> closed(ServerSocketChannel.open()))
                .without("TcpStore.connect", "tries as long as it is told, with nothing to close");
    }

    @Test
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    void noStoreTakesWrongArgumentsBadly() throws Exception {
        List<Misuse.Call> calls =
                misuse().callsTo(
                                List.of(
                                        Store.class,
                                        HashStore.class,
                                        FileStore.class,
                                        TcpStore.class,
                                        PrefixStore.class,
                                        TcpStoreServer.class));
        assertThat(calls).hasSizeGreaterThan(2000);
        for (Misuse.Call call : calls) {
            make(call);
            closeAll();
        }
        assertThat(faults).isEmpty();
    }

    private void make(Misuse.Call call) throws Exception {
        Future<?> result = thread.submit(() -> call.make(0));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
        while (true) {
            try {
                result.get(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
                return;
            } catch (TimeoutException e) {
                if (System.nanoTime() > deadline) {
                    throw new AssertionError(call + " does not end when its store is closed", e);
                }
                // More than once, since the call may have been slow to make its store.
                closeAll();
            } catch (ExecutionException e) {
                faults.add(e.getCause().getMessage());
                return;
            }
        }
    }
}

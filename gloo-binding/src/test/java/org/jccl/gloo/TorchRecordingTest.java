package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.Interop;
import org.jccl.ProcessGroup;
import org.jccl.ProcessGroupBuilder;
import org.jccl.store.PrefixStore;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;
import org.jccl.testing.TorchPython;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What PyTorch's ranks ask of their store, as recorded of a version, against the PyTorch that is
 * here, and against Java's ranks. See {@code script/check-torch}.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
@Tag("all")
class TorchRecordingTest {

    private static final Path SCRIPTS = Path.of("..", "script", "torch");
    private static final Duration TIMEOUT = enough(Duration.ofSeconds(120));
    private static final int WORLD = 3;

    /** The groups of the recorded ranks, without those that Java's ranks cannot make. */
    private static final List<List<Integer>> GROUPS =
            List.of(List.of(0, 1), List.of(0, 2), List.of(1, 2));

    private static final Pattern ADDRESS =
            Pattern.compile(
                    "(?:init_process_group|new_group \\[\\d, \\d\\](?: after the others)?) [|] rank \\d"
                            + " [|] SET /(\\S+) \\[host name and (\\d+) bytes\\]");

    @Test
    void pytorchAsksItsStoreAsRecorded() throws Exception {
        Process recording =
                new ProcessBuilder(
                                TorchPython.require(),
                                "-W",
                                "ignore",
                                SCRIPTS.resolve("record.py").toString())
                        .redirectErrorStream(true)
                        .start();
        try {
            String said =
                    new String(recording.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(recording.waitFor()).as(said).isZero();
            assertThat(said).contains("no difference in ");
        } finally {
            recording.descendants().forEach(ProcessHandle::destroyForcibly);
            recording.destroyForcibly();
        }
    }

    @Test
    void javaWritesTheKeysThatPytorchWrites() throws Exception {
        Map<String, Integer> recorded = recordedAddresses();
        assertThat(recorded).hasSize(WORLD + 2 * GROUPS.size());
        try (TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress("127.0.0.1", 0));
                TcpStore store = TcpStore.connect("127.0.0.1", server.port(), TIMEOUT)) {
            ExecutorService threads = Executors.newFixedThreadPool(WORLD);
            try {
                List<Future<?>> ranks = new ArrayList<>();
                for (int i = 0; i < WORLD; i++) {
                    int rank = i;
                    ranks.add(threads.submit(() -> makeGroups(server.port(), rank)));
                }
                for (Future<?> rank : ranks) {
                    rank.get();
                }
            } finally {
                threads.shutdownNow();
            }
            assertThat(addressesIn(store)).isEqualTo(recorded);
        }
    }

    /** Under a prefix that has PyTorch's name, since no init method leads to the store here. */
    private static void makeGroups(int port, int rank) {
        try (TcpStore store = TcpStore.connect("127.0.0.1", port, TIMEOUT);
                ProcessGroup world =
                        world().store(new PrefixStore("default_pg", store))
                                .rank(rank)
                                .worldSize(WORLD)
                                .build()) {
            List<ProcessGroup> groups = new ArrayList<>();
            GROUPS.stream().map(world::newGroup).flatMap(Optional::stream).forEach(groups::add);
            world.barrier().await();
            groups.forEach(ProcessGroup::close);
        }
    }

    private static ProcessGroupBuilder world() {
        return ProcessGroup.builder().backend("gloo").interop(Interop.TORCH).timeout(TIMEOUT);
    }

    /** The sizes of addresses by their keys, without the host's name and its length. */
    private static Map<String, Integer> recordedAddresses() throws IOException {
        Map<String, Integer> sizes = new TreeMap<>();
        for (String line : Files.readAllLines(SCRIPTS.resolve("recorded-2.13.txt"))) {
            Matcher address = ADDRESS.matcher(line);
            if (address.matches()) {
                sizes.put(address.group(1), Integer.valueOf(address.group(2)));
            }
        }
        return sizes;
    }

    private static Map<String, Integer> addressesIn(TcpStore store) {
        Map<String, Integer> sizes = new TreeMap<>();
        for (String key : store.listKeys()) {
            if (key.matches("default_pg/.*/cpu//.*")) {
                byte[] value = store.get(key);
                long host = ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).getLong();
                sizes.put(key, value.length - Long.BYTES - (int) host);
            }
        }
        return sizes;
    }
}

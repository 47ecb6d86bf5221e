package org.jccl.gloo;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jccl.BackendOptions;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.UsageException;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.store.Store;
import org.jccl.store.StoreTimeoutException;

/**
 * Forms the mesh of connections. Each rank listens on one port a peer, publishes its ports in the
 * store under {@code gloo/<rank>}, reads the others' and connects to them in rank order.
 */
final class Rendezvous {

    private static final int LONGEST_ADDRESS = 1024;

    private final CommunicatorConfig config;
    private final GlooCommunicator communicator;
    private final FailureContext context;
    private final Duration timeout;
    private final long deadline;

    Rendezvous(CommunicatorConfig config, Duration timeout, GlooCommunicator communicator) {
        this.config = config;
        this.communicator = communicator;
        this.timeout = timeout;
        this.deadline = System.nanoTime() + timeout.toNanos();
        this.context = FailureContext.ofGroup(config.groupName(), config.rank());
    }

    void connect(Consumer<LocalAddress> whenChosen) {
        Store store =
                config.store()
                        .orElseThrow(
                                () ->
                                        new UsageException(
                                                context,
                                                "Gloo needs a store to exchange addresses"));
        LocalAddress local =
                LocalAddress.choose(config.options().map(this::options), System.getenv());
        whenChosen.accept(local);
        communicator.listen(local.address().getHostAddress());
        store.set(key(config.rank()), announce(local).encode());
        List<Announcement> all = readAll(store);
        checkReachable(all);
        for (int peer = 0; peer < config.size(); peer++) {
            if (peer != config.rank()) {
                byte[] address = all.get(peer).addressFor(config.rank(), config.size());
                communicator.connect(peer, address, remaining());
            }
        }
        // A quick rank could otherwise finish its work and leave while a slow one still connects.
        communicator.barrier(Communicator.BLOCKING);
    }

    private GlooOptions options(BackendOptions options) {
        if (options instanceof GlooOptions gloo) {
            return gloo;
        }
        throw new UsageException(
                context, "Gloo takes GlooOptions, not " + options.getClass().getName());
    }

    private Announcement announce(LocalAddress local) {
        byte[][] addresses = new byte[config.size()][];
        byte[] buffer = new byte[LONGEST_ADDRESS];
        int length = 0;
        for (int peer = 0; peer < config.size(); peer++) {
            if (peer != config.rank()) {
                length = communicator.address(peer, buffer);
                addresses[peer] = Arrays.copyOf(buffer, length);
            }
        }
        ByteBuffer ports = ByteBuffer.allocate(length * config.size());
        for (int peer = 0; peer < config.size(); peer++) {
            if (peer != config.rank()) {
                ports.put(peer * length, addresses[peer]);
            }
        }
        return new Announcement(
                hostName(),
                local.address().getHostAddress(),
                local.address().isLoopbackAddress() && !local.asked(),
                ports.array());
    }

    private List<Announcement> readAll(Store store) {
        List<String> keys = IntStream.range(0, config.size()).mapToObj(Rendezvous::key).toList();
        try {
            store.await(keys, remaining());
        } catch (StoreTimeoutException e) {
            List<Integer> missing =
                    IntStream.range(0, config.size())
                            .filter(rank -> !store.check(List.of(key(rank))))
                            .boxed()
                            .toList();
            throw new OperationTimeoutException(
                    context,
                    "gloo: ranks "
                            + missing
                            + " of "
                            + config.size()
                            + " did not join within "
                            + timeout
                            + "; see whether they were started and create the same group",
                    e);
        }
        List<Announcement> all = new ArrayList<>();
        for (byte[] value : store.multiGet(keys)) {
            all.add(Announcement.decode(value));
        }
        return all;
    }

    /** A loopback address is of no use to another host, unless the user knows better. */
    private void checkReachable(List<Announcement> all) {
        Announcement mine = all.get(config.rank());
        for (int peer = 0; peer < all.size(); peer++) {
            Announcement theirs = all.get(peer);
            boolean sameHost = mine.host().equals(theirs.host());
            if (!sameHost && (mine.onlyLocal() || theirs.onlyLocal())) {
                int local = mine.onlyLocal() ? config.rank() : peer;
                throw new UsageException(
                        context,
                        "gloo: rank "
                                + local
                                + " listens on "
                                + all.get(local).address()
                                + ", which only its own host reaches, but rank "
                                + config.rank()
                                + " is on host "
                                + mine.host()
                                + " and rank "
                                + peer
                                + " on "
                                + theirs.host()
                                + "; set GLOO_SOCKET_IFNAME or GlooOptions to the network that"
                                + " connects them");
            }
        }
    }

    private Duration remaining() {
        return Duration.ofNanos(Math.max(1_000_000, deadline - System.nanoTime()));
    }

    private static String key(int rank) {
        return "gloo/" + rank;
    }

    /** Tells hosts apart without asking a name server. */
    private static String hostName() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException e) {
            return Optional.ofNullable(System.getenv("HOSTNAME")).orElse("");
        }
    }

    /** What a rank publishes: one line of text, then gloo's own form of one address a peer. */
    private record Announcement(String host, String address, boolean onlyLocal, byte[] ports) {

        byte[] encode() {
            byte[] line =
                    (host + " " + address + " " + onlyLocal + "\n")
                            .getBytes(StandardCharsets.UTF_8);
            return ByteBuffer.allocate(line.length + ports.length).put(line).put(ports).array();
        }

        static Announcement decode(byte[] value) {
            int end = 0;
            while (value[end] != '\n') {
                end++;
            }
            String[] words = new String(value, 0, end, StandardCharsets.UTF_8).split(" ", -1);
            return new Announcement(
                    words[0],
                    words[1],
                    Boolean.parseBoolean(words[2]),
                    Arrays.copyOfRange(value, end + 1, value.length));
        }

        byte[] addressFor(int rank, int size) {
            int length = ports.length / size;
            return Arrays.copyOfRange(ports, rank * length, (rank + 1) * length);
        }
    }
}

package org.jccl.gloo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.OperationTimeoutException;
import org.jccl.UsageException;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;
import org.jccl.store.Store;
import org.jccl.store.StoreTimeoutException;

/**
 * Forms the mesh of connections. Each rank listens, publishes in the store where its peers connect
 * to, reads the others' places and connects to them in rank order.
 */
final class Rendezvous {

    private static final int LONGEST_ADDRESS = 1024;

    private final CommunicatorConfig config;
    private final GlooCommunicator communicator;
    private final FailureContext context;
    private final AnnouncementFormat format;
    private final Duration timeout;
    private final long deadline;

    Rendezvous(CommunicatorConfig config, Duration timeout, GlooCommunicator communicator) {
        this.config = config;
        this.communicator = communicator;
        this.timeout = timeout;
        this.deadline = System.nanoTime() + timeout.toNanos();
        this.context = FailureContext.ofGroup(config.groupName(), config.rank());
        this.format =
                config.interop() != Interop.NONE
                        ? new TorchAnnouncementFormat()
                        : new OwnAnnouncementFormat();
    }

    void connect(Consumer<LocalAddress> whenChosen) {
        Store store = config.requireStore("Gloo needs a store to exchange addresses");
        LocalAddress local =
                LocalAddress.choose(config.options(GlooOptions.class), System.getenv());
        whenChosen.accept(local);
        communicator.listen(local.address().getHostAddress());
        store.set(format.key(config.rank()), format.encode(announce(local)));
        List<Announcement> all = readAll(store);
        checkReachable(all);
        for (int peer = 0; peer < config.size(); peer++) {
            if (peer != config.rank()) {
                communicator.connect(peer, all.get(peer).place(config.rank()), remaining());
            }
        }
        if (format.meets()) {
            // A quick rank could otherwise finish its work and leave while a slow one still
            // connects.
            communicator.barrier(Communicator.BLOCKING);
        }
    }

    private Announcement announce(LocalAddress local) {
        List<byte[]> places = new ArrayList<>();
        byte[] buffer = new byte[LONGEST_ADDRESS];
        for (int peer = 0; peer < config.size(); peer++) {
            int length = peer == config.rank() ? 0 : communicator.address(peer, buffer);
            places.add(Arrays.copyOf(buffer, length));
        }
        return new Announcement(
                hostName(),
                local.address().getHostAddress(),
                local.address().isLoopbackAddress() && !local.asked(),
                places);
    }

    private List<Announcement> readAll(Store store) {
        List<String> keys = IntStream.range(0, config.size()).mapToObj(format::key).toList();
        try {
            store.await(keys, remaining());
        } catch (StoreTimeoutException e) {
            List<Integer> missing =
                    IntStream.range(0, config.size())
                            .filter(rank -> !store.check(List.of(format.key(rank))))
                            .boxed()
                            .toList();
            throw new OperationTimeoutException(
                    context,
                    "gloo: ranks "
                            + missing
                            + " of "
                            + config.size()
                            + " did not join within "
                            + Durations.text(timeout)
                            + "; see whether they were started and create the same group",
                    e);
        }
        List<Announcement> all = new ArrayList<>();
        for (byte[] value : store.multiGet(keys)) {
            all.add(format.decode(value, config.size()));
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

    /** Tells hosts apart without asking a name server. */
    private static String hostName() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException e) {
            return Optional.ofNullable(System.getenv("HOSTNAME")).orElse("");
        }
    }
}

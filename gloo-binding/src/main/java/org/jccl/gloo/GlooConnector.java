package org.jccl.gloo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.NativeException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.UsageException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Descriptors;
import org.jccl.spi.support.NativeStatus;

/**
 * Forms the mesh of connections. Each rank listens, publishes its address in the store, reads the
 * addresses of its peers and connects to them in rank order.
 */
final class GlooConnector {

    /** The time that a rank waits for a peer before it checks that the store still answers. */
    private static final Duration SLICE = Duration.ofMillis(200);

    private static final Duration LONGEST = Duration.ofHours(24);
    private static final int LONGEST_ADDRESS = 1024;

    /** Connections to each peer, see {@code native/gloo/exchange.h}. */
    private static final int CONNECTIONS = 2;

    /**
     * Further file descriptors: ports, gloo's loop, and the store's second and third connection.
     */
    private static final int DESCRIPTORS = 12;

    /** Upper bound of first numbers: 18 digits, so that gloo's own numbers cannot overflow. */
    private static final long FIRST_NUMBERS = 1L << 59;

    private final CommunicatorConfig config;
    private final GlooCommunicator communicator;
    private final FailureContext context;
    private final AnnouncementFormat format;
    private final long deadline;

    /** Whether ranks have announced a second address. */
    private boolean moved;

    private GlooConnector(CommunicatorConfig config, GlooCommunicator communicator) {
        this.config = config;
        this.communicator = communicator;
        this.deadline = System.nanoTime() + config.joinTimeout().toNanos();
        this.context = FailureContext.ofGroup(config.groupName(), config.rank());
        this.format =
                config.interop() != Interop.NONE
                        ? new TorchAnnouncementFormat()
                        : new OwnAnnouncementFormat();
    }

    /** Creates a rank's end of a group, and reports the address on which it listens. */
    static GlooCommunicator connect(CommunicatorConfig config, Consumer<LocalAddress> whenChosen) {
        Duration timeout = config.timeout().compareTo(LONGEST) < 0 ? config.timeout() : LONGEST;
        boolean torch = config.interop() != Interop.NONE;
        long busyPolling =
                config.options(GlooOptions.class)
                        .map(each -> each.busyPolling().toNanos())
                        .orElse(0L);
        long handle =
                GlooNative.create(
                        config.rank(),
                        config.size(),
                        timeout.toMillis(),
                        torch ? 1 : 0,
                        busyPolling);
        if (handle < 0) {
            throw NativeStatus.exception(
                    (int) -handle, "libgloo", "gloo: out of memory for a communicator", -1);
        }
        GlooCommunicator communicator = new GlooCommunicator(handle, timeout, torch);
        try {
            if (config.size() > 1) {
                new GlooConnector(config, communicator).connect(whenChosen);
            }
            return communicator;
        } catch (RuntimeException | Error e) {
            communicator.close();
            throw e;
        }
    }

    private void connect(Consumer<LocalAddress> whenChosen) {
        Store store = config.requireStore("Gloo needs a store to exchange addresses");
        requireDescriptors();
        LocalAddress local =
                LocalAddress.choose(
                        config.options(GlooOptions.class), store.serverHost(), System.getenv());
        whenChosen.accept(local);
        config.tls().ifPresent(communicator::encrypt);
        List<Announcement> all =
                leaveLoopback(listen(local, store, format::key), local, store, whenChosen);
        checkReachable(all);
        for (int peer = 0; peer < config.size(); peer++) {
            if (peer != config.rank()) {
                connect(all, peer, store);
            }
        }
        if (format.meets()) {
            // Otherwise a fast rank could finish and leave while a slow one still connects.
            communicator.barrier(remaining());
            arrivals(store, format::key).leave("gloo/connected", List.of());
            if (moved) {
                arrivals(store, this::newKey).leave("gloo/new/connected", List.of());
            }
        }
    }

    /** Without enough descriptors, lookups and connections fail with misleading messages. */
    private void requireDescriptors() {
        int peers = config.size() - 1;
        try {
            Descriptors.require(
                    peers * CONNECTIONS + DESCRIPTORS, "a group of " + config.size() + " ranks");
        } catch (NativeException e) {
            throw e.at(context);
        }
    }

    private Arrivals arrivals(Store store, IntFunction<String> key) {
        return new Arrivals(store, config.size(), key);
    }

    /** Listens, announces the address, and waits for the other ranks' announcements. */
    private List<Announcement> listen(LocalAddress local, Store store, IntFunction<String> key) {
        long firstNumber = new SecureRandom().nextLong(FIRST_NUMBERS);
        communicator.listen(local.address().getHostAddress(), firstNumber);
        return exchange(announce(local, firstNumber), store, key);
    }

    /**
     * A host may resolve its own name to loopback, as with Debian's /etc/hosts. If other ranks are
     * on other hosts, its ranks change to the address of their route to one of those. All ranks
     * have read the same announcements, so they agree on the ranks that change.
     */
    private List<Announcement> leaveLoopback(
            List<Announcement> all,
            LocalAddress local,
            Store store,
            Consumer<LocalAddress> whenChosen) {
        Optional<Announcement> elsewhere =
                all.stream().filter(each -> !each.onlyLocal()).findFirst();
        List<Integer> movers =
                everybody().stream().filter(rank -> all.get(rank).onlyLocal()).toList();
        if (elsewhere.isEmpty() || movers.isEmpty() || format.newKey(config.rank()).isEmpty()) {
            return all;
        }
        moved = true;
        if (!movers.contains(config.rank())) {
            return exchange(all.get(config.rank()), store, this::newKey);
        }
        String goal = elsewhere.get().address();
        LocalAddress better =
                LocalAddress.towards(goal, "a rank at " + goal + ", instead of loopback")
                        .orElse(local);
        whenChosen.accept(better);
        return listen(better, store, this::newKey);
    }

    private String newKey(int rank) {
        return format.newKey(rank).orElseThrow();
    }

    private void connect(List<Announcement> all, int peer, Store store) {
        byte[] endpoint = all.get(peer).endpoint(config.rank());
        try {
            while (!communicator.awaitCaller(peer, endpoint, slice())) {
                // When a member is lost, its group closes the connection to the store. That member
                // may be the peer for which this rank waits.
                store.check(List.of("gloo/waiting"));
                if (deadline - System.nanoTime() <= 0) {
                    break;
                }
            }
            communicator.connect(peer, endpoint, remaining());
        } catch (PeerLostException e) {
            throw new PeerLostException(context, unconnected(all, peer, e), e);
        } catch (OperationTimeoutException e) {
            throw OperationTimeoutException.ofCall(context, unconnected(all, peer, e), e);
        }
    }

    private String unconnected(List<Announcement> all, int peer, JcclException why) {
        return String.format(
                "gloo: rank %d at %s on host %s cannot connect to rank %d at %s on host %s; if that"
                        + " rank is alive, check that a network connects the two addresses"
                        + " (set GLOO_SOCKET_IFNAME or GlooOptions to change them) and that no firewall"
                        + " blocks them: %s",
                config.rank(),
                all.get(config.rank()).address(),
                all.get(config.rank()).host(),
                peer,
                all.get(peer).address(),
                all.get(peer).host(),
                why.reason());
    }

    private List<Integer> everybody() {
        return IntStream.range(0, config.size()).boxed().toList();
    }

    private Announcement announce(LocalAddress local, long firstNumber) {
        byte[] buffer = new byte[LONGEST_ADDRESS];
        int anyPeer = config.rank() == 0 ? 1 : 0;
        communicator.address(anyPeer, buffer);
        return new Announcement(
                hostName(),
                // A scope names an interface of this host, which other hosts cannot parse.
                local.address().getHostAddress().replaceFirst("%.*", ""),
                local.address().isLoopbackAddress() && !local.asked(),
                Arrays.copyOf(buffer, Announcement.PORT_BYTES),
                firstNumber,
                config.tls().isPresent(),
                List.of());
    }

    private List<Announcement> exchange(Announcement mine, Store store, IntFunction<String> key) {
        Arrivals arrivals = arrivals(store, key);
        byte[] value = format.encode(mine, config.size());
        List<byte[]> values;
        try {
            if (format.meets()) {
                values =
                        arrivals.exchange(
                                config.rank(), value, remaining(), "gloo", config.joinTimeout());
            } else {
                arrivals.arrive(config.rank(), value);
                values = arrivals.await(remaining(), "gloo", config.joinTimeout());
            }
        } catch (JcclException e) {
            throw e.at(context);
        }
        List<Announcement> announcements = new ArrayList<>();
        for (int rank = 0; rank < values.size(); rank++) {
            announcements.add(decode(values.get(rank), rank, key));
            checkEncryption(announcements.get(rank), rank);
        }
        return announcements;
    }

    private Announcement decode(byte[] value, int rank, IntFunction<String> key) {
        try {
            return format.decode(value, config.size());
        } catch (MismatchException e) {
            throw new MismatchException(
                    context,
                    "rank " + rank + ", in the store's key " + key.apply(rank) + ": " + e.reason());
        }
    }

    /**
     * Checks that both sides use encryption or neither does, because a handshake would otherwise
     * get no answer.
     */
    private void checkEncryption(Announcement theirs, int rank) {
        if (theirs.encrypted() != config.tls().isPresent()) {
            throw new UsageException(
                    context,
                    "gloo: rank %d %s TLS, but rank %d %s; give all ranks certificates (--tls-cert of jccl run, or tls(...)), or none"
                            .formatted(
                                    rank,
                                    theirs.encrypted() ? "uses" : "does not use",
                                    config.rank(),
                                    theirs.encrypted() ? "does not" : "does"));
        }
    }

    /** Rejects a loopback address that other hosts must connect to, unless the user chose it. */
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

    private Duration slice() {
        return remaining().compareTo(SLICE) < 0 ? remaining() : SLICE;
    }

    private Duration remaining() {
        return Duration.ofNanos(Math.max(1_000_000, deadline - System.nanoTime()));
    }

    /** Returns a name that identifies the host, without a name server. */
    private String hostName() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException e) {
            // Not an empty name: ranks on this host would appear to be on another host.
            return Optional.ofNullable(System.getenv("HOSTNAME"))
                    .orElseThrow(() -> unknownHostName(e));
        }
    }

    private JcclException unknownHostName(IOException why) {
        requireDescriptors();
        return new UsageException(
                context, "gloo: the name of this host cannot be read: " + why + "; set HOSTNAME");
    }
}

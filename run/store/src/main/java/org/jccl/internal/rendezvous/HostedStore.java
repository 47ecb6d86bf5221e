package org.jccl.internal.rendezvous;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.StoreException;
import org.jccl.TlsCredentials;
import org.jccl.spi.Deadline;
import org.jccl.spi.Durations;
import org.jccl.spi.Polling;
import org.jccl.store.TcpStore;
import org.jccl.store.TcpStoreServer;

/** A client of a TCP store, and the server if this process serves it. */
public final class HostedStore implements AutoCloseable {

    /**
     * The time that closing waits for ranks that still use the store. It suffices to read why this
     * rank failed, or that all ranks have passed a barrier.
     */
    private static final Duration CLOSE_GRACE = Duration.ofSeconds(3);

    /** The time limit for the first attempt at one of several addresses. */
    private static final Duration FIRST_TIMEOUT = Duration.ofSeconds(1);

    /** The pause before an unknown name is looked up again. */
    private static final Duration ASK_AGAIN = Duration.ofSeconds(1);

    /** The last tenth of the time is for reporting the reason. */
    private static final int ASK_UNTIL = 10;

    private static final String LOOPBACK = "127.0.0.1";

    private final TcpStoreServer server;
    private final TcpStore client;
    private final int port;

    private HostedStore(TcpStoreServer server, TcpStore client, int port) {
        this.server = server;
        this.client = client;
        this.port = port;
    }

    /**
     * Serves a store and connects to it.
     *
     * @param host the name by which the other ranks know this host
     * @param port the port, 0 for any free one
     * @param contents the initial keys and values
     * @param tls the certificates of this process; empty for a plain store
     * @param timeout for the name lookup, the connection and the blocking calls of the client
     * @throws BootstrapException if the name is unknown or the port cannot be used
     */
    public static HostedStore serve(
            String host,
            int port,
            Map<String, byte[]> contents,
            Optional<TlsCredentials> tls,
            Duration timeout) {
        InetAddress bound = interfaceFor(host, resolve(host, port, timeout));
        TcpStoreServer server;
        try {
            InetSocketAddress address = new InetSocketAddress(bound, port);
            server =
                    tls.isPresent()
                            ? TcpStoreServer.bind(address, contents, tls.get())
                            : TcpStoreServer.bind(address, contents);
        } catch (StoreException e) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "this process has to serve the store at %s:%s, but cannot: %s. If another job of this host uses the port, give each job its own"
                            .formatted(host, port, e.getMessage()),
                    e);
        }
        try {
            String reachable = bound.isAnyLocalAddress() ? LOOPBACK : bound.getHostAddress();
            TcpStore client = client(reachable, server.port(), tls, timeout);
            return new HostedStore(server, client, server.port());
        } catch (RuntimeException | Error e) {
            server.close();
            throw e;
        }
    }

    /**
     * Connects a client.
     *
     * @param tls the certificates of this process; empty for a plain store
     * @throws StoreException if the store cannot be reached in time
     */
    public static TcpStore client(
            String host, int port, Optional<TlsCredentials> tls, Duration timeout) {
        return tls.isPresent()
                ? TcpStore.connect(host, port, timeout, tls.get())
                : TcpStore.connect(host, port, timeout);
    }

    /**
     * Connects to a store that another process serves, or will serve soon.
     *
     * @param tls the certificates of this process; empty for a plain store
     * @throws BootstrapException if the name stays unknown
     * @throws StoreException if the store cannot be reached in time
     */
    public static HostedStore connect(
            String host, int port, Optional<TlsCredentials> tls, Duration timeout) {
        resolve(host, port, timeout);
        return new HostedStore(null, client(host, port, tls, timeout), port);
    }

    /**
     * Serves a store with a secret on all interfaces, at a free port, and connects to it.
     *
     * @param timeout for the connection and the blocking calls of the client
     */
    public static HostedStore serveWithSecret(byte[] secret, Duration timeout) {
        TcpStoreServer server = TcpStoreServer.bind(new InetSocketAddress(0), secret);
        try {
            TcpStore client = TcpStore.connect(LOOPBACK, server.port(), timeout, secret);
            return new HostedStore(server, client, server.port());
        } catch (RuntimeException | Error e) {
            server.close();
            throw e;
        }
    }

    /**
     * Connects to the first of the addresses of a store that this host reaches. Each is tried for a
     * short time, then again for a longer one.
     *
     * @throws StoreException if none can be reached in time
     */
    public static HostedStore connectToAny(WorldStore store, Duration timeout) {
        Deadline limit = Deadline.after(timeout);
        Duration each = FIRST_TIMEOUT;
        while (true) {
            for (String address : store.addresses()) {
                try (TcpStore found =
                        TcpStore.connect(
                                address, store.port(), limit.atMost(each), store.secretBytes())) {
                    return new HostedStore(null, found.duplicate(timeout), store.port());
                } catch (StoreException e) {
                    if (limit.hasPassed()) {
                        throw new StoreException(
                                "the store of rank 0 cannot be reached within %s at any of %s, port %s. Check that rank 0 runs and that no firewall blocks the connection: %s"
                                        .formatted(
                                                Durations.text(timeout),
                                                store.addresses(),
                                                store.port(),
                                                e.getMessage()),
                                e);
                    }
                }
            }
            each = each.multipliedBy(2);
        }
    }

    /** Looks up a name within a time limit, which the JDK's own call does not have. */
    private static InetAddress resolve(String host, int port, Duration timeout) {
        if (isAddress(host)) {
            try {
                return InetAddress.getByName(host);
            } catch (UnknownHostException e) {
                throw unknownHost(host, port, "it is not a valid address", e);
            }
        }
        CompletableFuture<InetAddress> answer = new CompletableFuture<>();
        Deadline limit = Deadline.after(timeout);
        Thread asker = new Thread(() -> ask(host, limit.left(), answer), "jccl-resolve-" + host);
        asker.setDaemon(true);
        asker.start();
        try {
            return answer.get(limit.nanosLeft(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException e) {
            throw unknownHost(host, port, e.getCause().toString(), e.getCause());
        } catch (TimeoutException e) {
            throw unknownHost(
                    host, port, "no answer to its name within " + Durations.text(timeout), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw unknownHost(host, port, "interrupted while its name was looked up", e);
        } finally {
            answer.cancel(true);
        }
    }

    /** Returns whether it is an address, which needs no name service and so no time. */
    private static boolean isAddress(String host) {
        return host.contains(":") || host.matches("[0-9]{1,3}([.][0-9]{1,3}){3}");
    }

    /**
     * Looks up a name repeatedly, because Kubernetes knows the name of a pod only once the pod
     * runs.
     */
    private static void ask(String host, Duration timeout, CompletableFuture<InetAddress> answer) {
        Deadline limit = Deadline.after(timeout.minus(timeout.dividedBy(ASK_UNTIL)));
        for (boolean logged = false; !answer.isDone(); logged = true) {
            try {
                answer.complete(InetAddress.getByName(host));
            } catch (IOException e) {
                if (limit.hasPassed()) {
                    answer.completeExceptionally(e);
                } else if (!logged) {
                    System.getLogger(HostedStore.class.getName())
                            .log(
                                    Level.WARNING,
                                    "the store''s host {0} is not known; the lookup is repeated"
                                            + " for up to {1}",
                                    host,
                                    Durations.text(timeout));
                }
                Polling.sleep(limit.atMost(ASK_AGAIN));
            }
        }
    }

    private static BootstrapException unknownHost(
            String host, int port, String why, Throwable cause) {
        return new BootstrapException(
                FailureContext.NONE,
                "the store's host %s (port %s) cannot be found: %s. Set MASTER_ADDR, or the host of the init method, to a name or address that every rank can reach"
                        .formatted(host, port, why),
                cause);
    }

    /**
     * Returns the narrowest interface for all processes that know this host by that name. A name
     * may resolve to loopback here (as in Debian's /etc/hosts) or to no address of this host
     * (behind a service or NAT). Other hosts then reach another interface, so the store listens on
     * all.
     */
    private static InetAddress interfaceFor(String host, InetAddress address) {
        boolean loopback = address.isLoopbackAddress();
        if (loopback ? host.equals("localhost") || isNumeric(host) : isOwn(address)) {
            return address;
        }
        InetAddress all = new InetSocketAddress(0).getAddress();
        System.getLogger(HostedStore.class.getName())
                .log(
                        Level.WARNING,
                        "the store listens on all interfaces, because this host resolves {0} to"
                                + " {1}, {2}",
                        host,
                        address.getHostAddress(),
                        loopback
                                ? "which other hosts cannot reach"
                                : "which is not an address of its own: name the host of rank 0");
        return all;
    }

    private static boolean isNumeric(String host) {
        return host.contains(":") || host.startsWith("127.");
    }

    private static boolean isOwn(InetAddress address) {
        try {
            return NetworkInterface.getByInetAddress(address) != null;
        } catch (IOException e) {
            return false;
        }
    }

    public TcpStore client() {
        return client;
    }

    public int port() {
        return port;
    }

    /**
     * Closes the client, then the server as soon as no other rank uses it, or after a grace period.
     */
    @Override
    public void close() {
        client.close();
        if (server != null) {
            server.awaitNoClients(CLOSE_GRACE);
            server.close();
        }
    }
}

package org.jccl.launch;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.StoreException;
import org.jccl.TlsCredentials;
import org.jccl.internal.rendezvous.HostedStore;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.spi.Durations;
import org.jccl.store.TcpStore;

/**
 * The launchers' store of an elastic job, at the first endpoint that answers. If none answers, the
 * launcher whose host has one of the endpoints serves the store. A launcher waits longer before it
 * serves a later endpoint, so that launchers that start together agree on the first.
 */
final class ElasticStore implements AutoCloseable {

    private static final Logger LOGGER = System.getLogger(ProcessLauncher.class.getName());
    private static final Duration LOOK = Duration.ofSeconds(1);

    /** How much longer a launcher waits for each endpoint before its own. */
    private static final Duration PRECEDENCE = Duration.ofSeconds(3);

    /** How long a store may be silent before its launcher counts as lost. */
    private static final Duration SILENCE = Duration.ofSeconds(20);

    private final HostedStore hosted;
    private final String endpoint;
    private final boolean served;

    private final Optional<TlsCredentials> tls;

    private ElasticStore(
            HostedStore hosted, String endpoint, boolean served, Optional<TlsCredentials> tls) {
        this.tls = tls;
        this.hosted = hosted;
        this.endpoint = endpoint;
        this.served = served;
    }

    /**
     * Finds the store, or serves it.
     *
     * @param tls the certificates of this process; empty for a plain store
     * @throws BootstrapException if neither is possible in time
     */
    static ElasticStore open(ElasticNodes nodes, Optional<TlsCredentials> tls, TimeLimit limit) {
        long start = System.nanoTime();
        String why = "";
        String unreachable = "";
        while (true) {
            for (String endpoint : nodes.endpoints()) {
                try {
                    return connect(endpoint, tls);
                } catch (StoreException e) {
                    unreachable = e.getMessage();
                }
            }
            Duration waited = Duration.ofNanos(System.nanoTime() - start);
            for (int i = 0; i < nodes.endpoints().size(); i++) {
                String endpoint = nodes.endpoints().get(i);
                if (waited.compareTo(PRECEDENCE.multipliedBy(i)) >= 0 && isHere(endpoint)) {
                    try {
                        return serve(endpoint, tls);
                    } catch (JcclException e) {
                        why = ". This host's own can not be served: " + e.getMessage();
                    }
                }
            }
            if (limit.isOver()) {
                throw new BootstrapException(
                        FailureContext.NONE,
                        "no launcher serves the job's store at any of "
                                + nodes.endpoints()
                                + " within "
                                + Durations.text(waited)
                                + why
                                + ". The last look at an endpoint: "
                                + unreachable
                                + ". Start 'jccl run' on the host of one of them, with the same"
                                + " --rdzv-endpoint on each");
            }
            ElasticMember.pause();
        }
    }

    private static ElasticStore connect(String endpoint, Optional<TlsCredentials> tls) {
        String host = ElasticNodes.host(endpoint);
        int port = ElasticNodes.port(endpoint);
        try (TcpStore looked = HostedStore.client(host, port, tls, LOOK)) {
            TcpStore client = looked.duplicate(SILENCE);
            return new ElasticStore(HostedStore.of(client, port), endpoint, false, tls);
        }
    }

    private static ElasticStore serve(String endpoint, Optional<TlsCredentials> tls) {
        String host = ElasticNodes.host(endpoint);
        int port = ElasticNodes.port(endpoint);
        HostedStore hosted = HostedStore.serve(host, port, Map.of(), tls, SILENCE);
        LOGGER.log(Level.INFO, "serving the job''s store at {0}", endpoint);
        return new ElasticStore(hosted, endpoint, true, tls);
    }

    private static boolean isHere(String endpoint) {
        try {
            InetAddress address = InetAddress.getByName(ElasticNodes.host(endpoint));
            return address.isLoopbackAddress()
                    || NetworkInterface.getByInetAddress(address) != null;
        } catch (IOException unknown) {
            return false;
        }
    }

    TcpStore client() {
        return hosted.client();
    }

    /** Whether this process serves the store. */
    boolean served() {
        return served;
    }

    /** Whether a launcher serves the job at an endpoint that comes before this one. */
    boolean isPreceded(ElasticNodes nodes) {
        List<String> before = nodes.endpoints().subList(0, nodes.endpoints().indexOf(endpoint));
        for (String earlier : before) {
            try {
                connect(earlier, tls).close();
                return true;
            } catch (StoreException e) {
                continue; // no store is served there
            }
        }
        return false;
    }

    /** The address at which the other nodes reach this one. */
    String localAddress(ElasticNodes nodes) {
        String host = ElasticNodes.host(endpoint);
        if (nodes.localAddress().isPresent() || served) {
            return nodes.localAddress().orElse(host);
        }
        // Connecting a datagram socket sends nothing, but selects the local address of the route.
        try (DatagramSocket route = new DatagramSocket()) {
            route.connect(new InetSocketAddress(host, ElasticNodes.port(endpoint)));
            InetAddress local = route.getLocalAddress();
            return local.isAnyLocalAddress()
                    ? InetAddress.getLocalHost().getHostName()
                    : local.getHostAddress();
        } catch (IOException | RuntimeException e) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "the address of this host that others reach is unknown; give --local-addr",
                    e);
        }
    }

    /** Stops serving, so that all launchers look for another store. */
    void abandon() {
        hosted.abandon();
    }

    @Override
    public void close() {
        hosted.close();
    }
}

package org.jccl.launch;

import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.internal.checks.Require;
import org.jccl.spi.Durations;

/**
 * How many nodes an elastic job may have, and how their launchers find each other. It corresponds
 * to torchrun's {@code --nnodes MIN:MAX}, {@code --rdzv-endpoint} and {@code --rdzv-conf}. Times
 * have torchrun's defaults.
 *
 * @param min the fewest nodes with which the job runs, at least 1
 * @param max the most nodes of the job, at least {@code min}
 * @param endpoints where the launchers' store may be, as {@code host:port}, in the order in which
 *     they are tried. A launcher that finds no store serves it, on the first endpoint of its own
 *     host. With several endpoints, the job outlives the launcher that serves the store
 * @param joinTimeout how long the job waits for {@code min} nodes before it fails; 10 minutes
 * @param lastCall how long it waits for more nodes after {@code min} have joined; 30 s
 * @param keepAliveInterval the time between two heartbeats of a launcher; 5 s
 * @param keepAliveAttempts how many heartbeats it may miss before it counts as lost; 3
 * @param localAddress a name or address of this host that the other nodes can reach. If it is
 *     empty, it is the endpoint's host if this launcher serves the store, or else the address from
 *     which this host reaches the store
 */
public record ElasticNodes(
        int min,
        int max,
        List<String> endpoints,
        Duration joinTimeout,
        Duration lastCall,
        Duration keepAliveInterval,
        int keepAliveAttempts,
        Optional<String> localAddress) {

    /** torchrun's default. */
    public static final int DEFAULT_PORT = 29400;

    private static final int HIGHEST_PORT = 65535;

    /**
     * Checks the arguments and copies the list.
     *
     * @param min fewest nodes
     * @param max most nodes
     * @param endpoints where the store may be; the port may be left out
     * @param joinTimeout how long to wait for the fewest
     * @param lastCall how long to wait for more
     * @param keepAliveInterval the time between two heartbeats
     * @param keepAliveAttempts how many heartbeats may be missed
     * @param localAddress this host
     * @throws UsageException if an argument is null, negative or contradicts another
     */
    public ElasticNodes {
        check(
                min >= 1 && max >= min,
                "an elastic job of "
                        + min
                        + " to "
                        + max
                        + " nodes is none; at least 1, and MIN:MAX");
        endpoints =
                Require.nonNull(endpoints, "list of endpoints").stream()
                        .map(ElasticNodes::endpoint)
                        .toList();
        check(!endpoints.isEmpty(), "an elastic job needs an endpoint: host:port of a launcher");
        check(
                new HashSet<>(endpoints).size() == endpoints.size(),
                "an endpoint is named twice in " + endpoints);
        positive(joinTimeout, "join timeout");
        check(
                !Require.nonNull(lastCall, "last call").isNegative(),
                "the last call is " + Durations.text(lastCall) + "; give 0 or more");
        positive(keepAliveInterval, "keep-alive interval");
        check(keepAliveAttempts >= 1, "the number of keep-alive attempts is at least 1");
        Require.nonNull(localAddress, "local address (empty where it is not known)");
    }

    /**
     * Nodes whose launchers find each other at one or several endpoints, with torchrun's times.
     *
     * @param min fewest nodes
     * @param max most nodes
     * @param endpoints {@code host} or {@code host:port}
     * @return the description
     * @throws UsageException as the constructor
     */
    public static ElasticNodes of(int min, int max, String... endpoints) {
        return new ElasticNodes(
                min,
                max,
                Arrays.asList(Require.nonNull(endpoints, "list of endpoints")),
                Duration.ofMinutes(10),
                Duration.ofSeconds(30),
                Duration.ofSeconds(5),
                3,
                Optional.empty());
    }

    /**
     * Returns a copy with other waiting times.
     *
     * @param joinTimeout how long to wait for the fewest
     * @param lastCall how long to wait for more
     * @return a copy
     * @throws UsageException as the constructor
     */
    public ElasticNodes withWaiting(Duration joinTimeout, Duration lastCall) {
        return new ElasticNodes(
                min,
                max,
                endpoints,
                joinTimeout,
                lastCall,
                keepAliveInterval,
                keepAliveAttempts,
                localAddress);
    }

    /**
     * Returns a copy with other heartbeats.
     *
     * @param interval the time between two heartbeats of a launcher
     * @param attempts how many of them it may miss
     * @return a copy
     * @throws UsageException as the constructor
     */
    public ElasticNodes withKeepAlive(Duration interval, int attempts) {
        return new ElasticNodes(
                min, max, endpoints, joinTimeout, lastCall, interval, attempts, localAddress);
    }

    /**
     * Returns a copy for a host that other nodes reach by another name.
     *
     * @param address a name or address of this host
     * @return a copy
     * @throws UsageException if it is null
     */
    public ElasticNodes withLocalAddress(String address) {
        return new ElasticNodes(
                min,
                max,
                endpoints,
                joinTimeout,
                lastCall,
                keepAliveInterval,
                keepAliveAttempts,
                Optional.of(Require.nonNull(address, "local address")));
    }

    /** The time without heartbeats after which a launcher counts as lost. */
    Duration silence() {
        return keepAliveInterval.multipliedBy(keepAliveAttempts);
    }

    static String host(String endpoint) {
        String host = endpoint.substring(0, endpoint.lastIndexOf(':'));
        return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    }

    static int port(String endpoint) {
        return Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1));
    }

    /** {@code host}, {@code host:port}, {@code [v6]} or {@code [v6]:port}. */
    static String endpoint(String endpoint) {
        String text = Require.nonNull(endpoint, "endpoint").strip();
        boolean bare = text.endsWith("]") || text.indexOf(':') < 0;
        String whole = bare ? text + ":" + DEFAULT_PORT : text;
        String expected = "endpoint '" + endpoint + "' is not host:port or [address]:port";
        check(
                whole.matches("(\\[[0-9A-Fa-f:.%\\w]+\\]|[^\\s:\\[\\]\\p{Cntrl}]+):[0-9]{1,5}"),
                expected);
        check(port(whole) >= 1 && port(whole) <= HIGHEST_PORT, expected);
        return whole;
    }

    private static void positive(Duration time, String what) {
        Require.nonNull(time, what);
        check(
                !time.isNegative() && !time.isZero(),
                "the " + what + " is " + Durations.text(time) + "; give a time");
    }

    private static void check(boolean condition, String message) {
        if (!condition) {
            throw new UsageException(FailureContext.NONE, message);
        }
    }
}

package org.jccl.gloo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.Collections;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * The address of this host that peers connect to, always one that can be bound.
 *
 * @param address the numeric address
 * @param reason the reason for this choice
 * @param asked whether the user requested this address or its interface
 */
record LocalAddress(InetAddress address, String reason, boolean asked) {

    /** Any port works: connecting a datagram socket only determines the route. */
    private static final int ROUTE_PORT = 9;

    /**
     * Chooses an address from the first source that has one: the options, {@code
     * GLOO_SOCKET_IFNAME}, the route to the store or {@code MASTER_ADDR}, the host's own name,
     * loopback.
     *
     * @param storeHost the host of the store, if it is served over the network
     */
    static LocalAddress choose(
            Optional<GlooOptions> options,
            Optional<String> storeHost,
            Map<String, String> environment) {
        Optional<String> name = options.flatMap(GlooOptions::networkInterface);
        if (name.isPresent()) {
            return ofInterface(name.get(), "network interface " + name.get() + " of the options");
        }
        Optional<String> host = options.flatMap(GlooOptions::host);
        if (host.isPresent()) {
            return ofHost(host.get());
        }
        String variable = environment.getOrDefault("GLOO_SOCKET_IFNAME", "");
        if (!variable.isEmpty()) {
            return ofInterface(variable.split(",")[0], "GLOO_SOCKET_IFNAME=" + variable);
        }
        Optional<LocalAddress> toStore =
                storeHost.flatMap(where -> towards(where, "the store's host " + where));
        Optional<LocalAddress> toMaster =
                Optional.ofNullable(environment.get("MASTER_ADDR"))
                        .filter(where -> !where.isEmpty())
                        .flatMap(where -> towards(where, "MASTER_ADDR=" + where));
        // The rank that serves the store may do so over loopback.
        Optional<LocalAddress> route =
                Stream.of(toMaster, toStore)
                        .flatMap(Optional::stream)
                        .filter(found -> !found.address().isLoopbackAddress())
                        .findFirst()
                        .or(() -> toMaster)
                        .or(() -> toStore);
        if (route.isPresent()) {
            return route.get();
        }
        try {
            InetAddress own = InetAddress.getLocalHost();
            if (isBindable(own)) {
                return new LocalAddress(own, "address of host name " + own.getHostName(), false);
            }
        } catch (UnknownHostException e) {
            // A container's name often does not resolve.
        }
        return new LocalAddress(
                InetAddress.getLoopbackAddress(),
                "loopback, because the host's name has no address",
                false);
    }

    /** Returns the address from which this host reaches another; empty if there is no route. */
    static Optional<LocalAddress> towards(String host, String what) {
        try (DatagramSocket probe = new DatagramSocket()) {
            probe.connect(new InetSocketAddress(InetAddress.getByName(host), ROUTE_PORT));
            InetAddress own = probe.getLocalAddress();
            return own.isAnyLocalAddress()
                    ? Optional.empty()
                    : Optional.of(new LocalAddress(own, "route to " + what, false));
        } catch (IOException | UncheckedIOException e) {
            // No route or no such name: the next source may have an address.
            return Optional.empty();
        }
    }

    private static LocalAddress ofInterface(String name, String reason) {
        try {
            NetworkInterface found = NetworkInterface.getByName(name);
            if (found == null) {
                throw usage(
                        reason
                                + ": there is no such network interface; this host has "
                                + NetworkInterface.networkInterfaces()
                                        .map(NetworkInterface::getName)
                                        .toList());
            }
            InetAddress best = null;
            for (InetAddress address : Collections.list(found.getInetAddresses())) {
                if (best == null || (address instanceof Inet4Address && !isIpv4(best))) {
                    best = address;
                }
            }
            if (best == null) {
                throw usage(reason + ": the interface has no address");
            }
            return new LocalAddress(best, reason, true);
        } catch (SocketException e) {
            throw usage(reason + ": " + e.getMessage());
        }
    }

    private static LocalAddress ofHost(String host) {
        try {
            InetAddress address = InetAddress.getByName(host);
            if (!isBindable(address)) {
                throw usage(
                        "host "
                                + host
                                + " of the options is "
                                + address
                                + ", which is not an"
                                + " address of this machine");
            }
            return new LocalAddress(address, "host " + host + " of the options", true);
        } catch (UnknownHostException e) {
            throw usage("host " + host + " of the options has no address");
        }
    }

    private static boolean isIpv4(InetAddress address) {
        return address instanceof Inet4Address;
    }

    private static boolean isBindable(InetAddress address) {
        try (ServerSocket socket = new ServerSocket(0, 1, address)) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }

    private static UsageException usage(String message) {
        return new UsageException(FailureContext.NONE, "gloo: " + message);
    }
}

package org.jccl.internal.rendezvous;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;

/**
 * The address of the store that rank 0 serves for the world of a library. It contains all addresses
 * of the host, because each other host may reach a different one. It contains no host name, because
 * other hosts may not know it. The secret rejects other processes, and distinguishes this store
 * from other servers at these addresses.
 *
 * @param port the port of the store
 * @param secret the secret of the store, in hexadecimal digits
 * @param addresses the addresses of the host in numeric form, at least one
 */
public record WorldStore(int port, String secret, List<String> addresses) {

    /** The size of the encoded form, the same on all ranks. */
    public static final int BYTES = 2048;

    /** The number of addresses of the longest form that fit. */
    static final int MAX_ADDRESSES = 32;

    private static final int SECRET_BYTES = 16;
    private static final int MAX_PORT = 65535;

    /** Port, secret and one address. */
    private static final int MIN_WORDS = 3;

    public static byte[] newSecret() {
        byte[] random = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(random);
        return random;
    }

    public static WorldStore ofThisHost(int port, byte[] secret) {
        return new WorldStore(port, HexFormat.of().formatHex(secret), addressesOfThisHost());
    }

    public byte[] secretBytes() {
        return HexFormat.of().parseHex(secret);
    }

    public void encode(byte[] out) {
        byte[] text = (port + " " + secret + " " + String.join(" ", addresses)).getBytes(UTF_8);
        System.arraycopy(text, 0, out, 0, text.length);
    }

    /**
     * Decodes the result of {@link #encode}, which zeros may follow.
     *
     * @throws BootstrapException if the bytes are not such a result
     */
    public static WorldStore decode(byte[] bytes) {
        String[] words = new String(bytes, UTF_8).trim().split(" ", -1);
        int port = words[0].matches("[0-9]{1,5}") ? Integer.parseInt(words[0]) : 0;
        if (port < 1
                || port > MAX_PORT
                || words.length < MIN_WORDS
                || !words[1].matches("[0-9a-f]+")
                || words[1].length() % 2 != 0) {
            throw invalid();
        }
        List<String> addresses = List.of(words).subList(2, words.length);
        if (!addresses.stream().allMatch(address -> address.matches("[0-9A-Za-z.:%_-]+"))) {
            throw invalid();
        }
        return new WorldStore(port, words[1], addresses);
    }

    /**
     * Creates an exception whose message does not contain the bytes, because these may contain the
     * secret.
     */
    private static BootstrapException invalid() {
        return new BootstrapException(
                FailureContext.NONE,
                "the value that rank 0 broadcast is not the address of a store: start all ranks"
                        + " with the same version of JCCL");
    }

    /**
     * Returns the addresses of this host that others may reach, IPv4 first. Without any, returns
     * loopback, because then there is no other host.
     */
    private static List<String> addressesOfThisHost() {
        List<InetAddress> found = new ArrayList<>();
        try {
            for (NetworkInterface each : NetworkInterface.networkInterfaces().toList()) {
                if (each.isUp() && !each.isLoopback()) {
                    each.inetAddresses()
                            .filter(address -> !address.isLinkLocalAddress())
                            .forEach(found::add);
                }
            }
        } catch (SocketException e) {
            System.getLogger(WorldStore.class.getName())
                    .log(System.Logger.Level.WARNING, "cannot list all addresses of this host", e);
        }
        found.sort(Comparator.comparing(address -> !(address instanceof Inet4Address)));
        if (found.isEmpty()) {
            found.add(InetAddress.getLoopbackAddress());
        }
        return found.stream().limit(MAX_ADDRESSES).map(WorldStore::text).toList();
    }

    /**
     * Formats an address without a scope, which names an interface of this host and cannot be
     * parsed elsewhere.
     */
    public static String text(InetAddress address) {
        return address.getHostAddress().replaceFirst("%.*", "");
    }
}

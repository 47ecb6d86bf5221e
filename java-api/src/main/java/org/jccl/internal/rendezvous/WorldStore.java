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
 * Where rank 0 of a library's world serves the store, as it tells the others. It names all of its
 * host's addresses and no host name: not every host knows the others' names, and which of the
 * addresses the others reach, only they can tell. The secret keeps everybody out who was not told,
 * and tells this store from whatever else listens at one of the addresses.
 *
 * @param port of the store
 * @param secret of the store, in hexadecimal digits
 * @param addresses numeric, at least one
 */
public record WorldStore(int port, String secret, List<String> addresses) {

    /** What it takes as bytes, the same on all ranks. */
    public static final int BYTES = 2048;

    /** As many of the longest form as fit. */
    static final int MOST_ADDRESSES = 32;

    private static final int SECRET_BYTES = 16;
    private static final int HIGHEST_PORT = 65535;

    /** Port, secret, address. */
    private static final int LEAST_WORDS = 3;

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
     * Reads what {@link #encode} has written, and zeros after it.
     *
     * @throws BootstrapException if it is something else
     */
    public static WorldStore decode(byte[] bytes) {
        String[] words = new String(bytes, UTF_8).trim().split(" ", -1);
        int port = words[0].matches("[0-9]{1,5}") ? Integer.parseInt(words[0]) : 0;
        if (port < 1
                || port > HIGHEST_PORT
                || words.length < LEAST_WORDS
                || !words[1].matches("[0-9a-f]+")
                || words[1].length() % 2 != 0) {
            throw foreign();
        }
        List<String> addresses = List.of(words).subList(2, words.length);
        if (!addresses.stream().allMatch(address -> address.matches("[0-9A-Za-z.:%_-]+"))) {
            throw foreign();
        }
        return new WorldStore(port, words[1], addresses);
    }

    /** Without what it is, which has the secret. */
    private static BootstrapException foreign() {
        return new BootstrapException(
                FailureContext.NONE,
                "what rank 0 broadcast is not where it serves the store: start all ranks with the"
                        + " same version of JCCL");
    }

    /**
     * Addresses of this host that others may reach, IPv4 first; loopback where there is no other,
     * as then there can be no other host.
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
                    .log(
                            System.Logger.Level.WARNING,
                            "not all addresses of this host are known",
                            e);
        }
        found.sort(Comparator.comparing(address -> !(address instanceof Inet4Address)));
        if (found.isEmpty()) {
            found.add(InetAddress.getLoopbackAddress());
        }
        return found.stream().limit(MOST_ADDRESSES).map(WorldStore::text).toList();
    }

    /** Without a scope: it names an interface of this host, and others can not parse it. */
    public static String text(InetAddress address) {
        return address.getHostAddress().replaceFirst("%.*", "");
    }
}

package org.jccl.bootstrap;

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
record WorldStore(int port, String secret, List<String> addresses) {

    /** What it takes as bytes, the same on all ranks. */
    static final int BYTES = 2048;

    /** As many of the longest form as fit. */
    static final int MOST_ADDRESSES = 32;

    private static final int SECRET_BYTES = 16;

    static byte[] newSecret() {
        byte[] random = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(random);
        return random;
    }

    static WorldStore ofThisHost(int port, byte[] secret) {
        return new WorldStore(port, HexFormat.of().formatHex(secret), addressesOfThisHost());
    }

    byte[] secretBytes() {
        return HexFormat.of().parseHex(secret);
    }

    void encode(byte[] out) {
        byte[] text = (port + " " + secret + " " + String.join(" ", addresses)).getBytes(UTF_8);
        System.arraycopy(text, 0, out, 0, text.length);
    }

    static WorldStore decode(byte[] bytes) {
        String[] words = new String(bytes, UTF_8).trim().split(" ");
        return new WorldStore(
                Integer.parseInt(words[0]), words[1], List.of(words).subList(2, words.length));
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
        return found.stream().limit(MOST_ADDRESSES).map(InetAddress::getHostAddress).toList();
    }
}

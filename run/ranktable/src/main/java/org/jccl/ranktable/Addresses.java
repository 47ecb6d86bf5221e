package org.jccl.ranktable;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Addresses of an HCCL table: literal and of one family, those of devices each once. */
final class Addresses {

    private static final String BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";

    private static final Pattern IPV4 = Pattern.compile("(" + BYTE + "\\.){3}" + BYTE);

    /** The JDK takes a text with a colon as a literal, so it asks no name server. */
    private static final Pattern IPV6 = Pattern.compile("[0-9a-fA-F:]*:[0-9a-fA-F:.]*");

    private final boolean unique;
    private final Map<InetAddress, Element> seen = new HashMap<>();
    private Element firstAt;
    private int firstLength;
    private final List<Element> others = new ArrayList<>();

    Addresses(boolean unique) {
        this.unique = unique;
    }

    /** The addresses of a comma list. */
    List<String> read(Element at) {
        List<String> addresses = new ArrayList<>();
        for (Map.Entry<String, InetAddress> address : check(at).entrySet()) {
            InetAddress parsed = address.getValue();
            addresses.add(address.getKey());
            if (unique) {
                Devices.checkUnique(seen, parsed, at);
            }
            int length = parsed.getAddress().length;
            if (firstAt == null) {
                firstAt = at;
                firstLength = length;
            } else if (length != firstLength) {
                others.add(at);
            }
        }
        return addresses;
    }

    /**
     * Reports addresses of another family than the first; HCCL compares those of several servers.
     */
    void checkFamilies(boolean several) {
        for (Element at : others) {
            (several ? at : at.refusedBy())
                    .fault(
                            "is "
                                    + at.describe()
                                    + ", but "
                                    + firstAt.path()
                                    + " is "
                                    + firstAt.describe()
                                    + ": use IPv4 for all, or IPv6 for all");
        }
    }

    /** Reads addresses without comparing them with others. */
    static Map<String, InetAddress> check(Element at) {
        Map<String, InetAddress> addresses = new LinkedHashMap<>();
        for (String part : at.text().map(text -> text.split(",", -1)).orElse(new String[0])) {
            String address = part.strip();
            InetAddress parsed = parse(address);
            if (parsed == null) {
                at.fault("is " + at.describe() + ": give numeric IPv4 or IPv6 addresses");
                return Map.of();
            }
            addresses.put(address, parsed);
        }
        return addresses;
    }

    static boolean isIpv4(String address) {
        return IPV4.matcher(address).matches();
    }

    /** Whether a text is an IPv6 address, also one that ends in an IPv4 address. */
    static boolean isIpv6(String address) {
        return IPV6.matcher(address).matches() && parse(address) != null;
    }

    private static InetAddress parse(String address) {
        if (!IPV4.matcher(address).matches() && !IPV6.matcher(address).matches()) {
            return null;
        }
        try {
            return InetAddress.getByName(address);
        } catch (UnknownHostException notAnAddress) {
            return null;
        }
    }
}

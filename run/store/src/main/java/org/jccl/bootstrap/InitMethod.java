package org.jccl.bootstrap;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.internal.rendezvous.StoreUrl;

/**
 * The parts of an init method, in the form of PyTorch's URLs.
 *
 * @param text the whole URL
 * @param scheme {@code env}, {@code tcp}, {@code file} or that of a {@link
 *     org.jccl.spi.StoreProvider}
 * @param host host of the store; empty except for {@code tcp}
 * @param port port of the store; 0 except for {@code tcp}
 * @param path the file; empty except for {@code file}
 * @param rank rank in the query of the URL
 * @param worldSize world size in the query of the URL
 */
record InitMethod(
        String text,
        String scheme,
        String host,
        int port,
        String path,
        OptionalInt rank,
        OptionalInt worldSize) {

    /**
     * Splits a URL like Python's {@code urlsplit}, which PyTorch uses. {@link java.net.URI} rejects
     * {@code env://} and hosts with an underscore. Nothing is decoded.
     */
    private static final Pattern URL =
            Pattern.compile(
                    "(?<scheme>[A-Za-z][A-Za-z0-9+.-]*):"
                            + "(?://(?<authority>[^/?#]*))?(?<path>[^?#]*)"
                            + "(?:\\?(?<query>[^#]*))?(?:#.*)?",
                    Pattern.DOTALL);

    /** A host without brackets, or an IPv6 address, optionally with the name of an interface. */
    private static final Pattern HOST_AND_PORT =
            Pattern.compile(
                    "(?:\\[(?<address>[^\\[\\]]+)]|(?<host>[^:\\[\\]]+)):(?<port>[^:\\[\\]]+)");

    private static final Pattern IPV6 = Pattern.compile("[0-9A-Fa-f.:]*:[0-9A-Fa-f.:]*(%.+)?");

    private static final Pattern HOST = Pattern.compile("[^\\s\\p{Cntrl}\\[\\]]+");

    /** An integer as Python parses it. */
    private static final Pattern NUMBER = Pattern.compile("\\s*[+-]?[0-9]+(_[0-9]+)*\\s*");

    private static final int MAX_PORT = 65535;

    /**
     * Parses a URL as PyTorch does on Linux: the path of a file is not decoded, and ends at {@code
     * #}. Parameters other than rank and world size have no effect.
     *
     * @throws BootstrapException if it has none of these forms
     */
    static InitMethod parse(String text) {
        // Python strips it too, for instance the end of a line from a settings file.
        Matcher url =
                URL.matcher(text.replaceAll("^[\\x00-\\x20]+", "").replaceAll("[\\t\\r\\n]", ""));
        if (!url.matches()) {
            throw bad(text, "it is not a URL");
        }
        String scheme = url.group("scheme").toLowerCase(Locale.ROOT);
        String authority = url.group("authority") == null ? "" : url.group("authority");
        if (authority.contains("[") != authority.contains("]")) {
            throw bad(text, "it has an unmatched bracket");
        }
        Map<String, String> query = query(text, url.group("query"));
        OptionalInt rank = number(text, query, "rank", 0);
        OptionalInt worldSize = number(text, query, "world_size", 1);
        String host = "";
        int port = 0;
        String path = "";
        switch (scheme) {
            case "env" -> {}
            case "tcp" -> {
                Matcher place =
                        HOST_AND_PORT.matcher(authority.substring(authority.lastIndexOf('@') + 1));
                if (!place.matches()) {
                    throw bad(
                            text,
                            "it needs a host and a port; an IPv6 address needs brackets around it");
                }
                String address = place.group("address");
                host = address == null ? place.group("host") : address;
                if (!(address == null ? HOST : IPV6).matcher(host).matches()) {
                    throw bad(text, "'" + host + "' is not a host");
                }
                port = port(text, place.group("port"));
            }
            case "file" -> {
                path = url.group("path");
                if (path.isEmpty()) {
                    throw bad(text, "it needs an absolute path after two slashes");
                }
                if (path.equals("/") || path.indexOf('\0') >= 0) {
                    throw bad(text, "it names no file");
                }
            }
            default -> {
                if (!StoreUrl.isProvided(scheme)) {
                    throw bad(
                            text,
                            "the scheme '"
                                    + scheme
                                    + "' is unknown (etcd needs the artifact"
                                    + " org.jccl:jccl-etcd)");
                }
            }
        }
        return new InitMethod(text, scheme, host, port, path, rank, worldSize);
    }

    private static Map<String, String> query(String text, String query) {
        Map<String, String> parameters = new HashMap<>();
        if (query == null) {
            return parameters;
        }
        for (String pair : query.split("&")) {
            String[] parts = pair.split("=", -1);
            if (parts.length > 1) {
                parameters.put(parts[0], parts[1]);
            } else if (!pair.isEmpty()) {
                throw bad(text, "the parameter '" + pair + "' has no value");
            }
        }
        return parameters;
    }

    private static OptionalInt number(
            String text, Map<String, String> query, String name, int least) {
        String value = query.get(name);
        if (value == null) {
            return OptionalInt.empty();
        }
        try {
            int number =
                    NUMBER.matcher(value).matches()
                            ? Integer.parseInt(value.strip().replace("_", ""))
                            : -1;
            if (number >= least) {
                return OptionalInt.of(number);
            }
        } catch (NumberFormatException tooLarge) {
            // Reported below, like a missing number.
        }
        throw bad(text, name + "=" + value + " must be a number of " + least + " or more");
    }

    private static int port(String text, String value) {
        try {
            int port = value.matches("[0-9]+") ? Integer.parseInt(value) : -1;
            if (port >= 0 && port <= MAX_PORT) {
                return port;
            }
        } catch (NumberFormatException tooLarge) {
            // Reported below, like a missing number.
        }
        throw bad(text, "the port " + value + " must be a number from 0 to " + MAX_PORT);
    }

    private static BootstrapException bad(String text, String why) {
        return new BootstrapException(
                FailureContext.NONE,
                "init method '%s': %s. Use env://, tcp://host:port?rank=R&world_size=W or file:///path?rank=R&world_size=W"
                        .formatted(text, why));
    }
}

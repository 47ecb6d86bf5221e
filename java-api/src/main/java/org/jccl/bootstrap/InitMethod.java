package org.jccl.bootstrap;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;

/**
 * The parts of an init method, in the form of PyTorch's URLs.
 *
 * @param text the whole URL
 * @param scheme {@code env}, {@code tcp} or {@code file}
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

    /** {@link java.net.URI} rejects {@code env://} and hosts with an underscore. */
    private static final Pattern URL =
            Pattern.compile(
                    "(?<scheme>[a-z]+)://(?<authority>[^/?]*)(?<path>[^?]*)(?:\\?(?<query>.*))?");

    /** Also addresses, and IPv6 addresses with the name of an interface. */
    private static final Pattern HOST = Pattern.compile("[^\\s\\p{Cntrl}\\[\\]]+");

    private static final int HIGHEST_PORT = 65535;

    /** PyTorch selects its server implementation by {@code use_libuv}; it has no effect here. */
    private static final Set<String> PARAMETERS = Set.of("rank", "world_size", "use_libuv");

    /**
     * Parses a URL.
     *
     * @throws BootstrapException if it has none of the three forms
     */
    static InitMethod parse(String text) {
        Matcher url = URL.matcher(text);
        if (!url.matches()) {
            throw bad(text, "it is not a URL");
        }
        String scheme = url.group("scheme");
        String authority = url.group("authority");
        Map<String, String> query = query(text, url.group("query"));
        OptionalInt rank = number(text, query, "rank", 0);
        OptionalInt worldSize = number(text, query, "world_size", 1);
        String host = "";
        int port = 0;
        String path = "";
        switch (scheme) {
            case "env" -> {}
            case "tcp" -> {
                int colon = authority.lastIndexOf(':');
                if (colon < 1 || authority.endsWith("]") || colon == authority.length() - 1) {
                    throw bad(text, "it needs a host and a port");
                }
                host = authority.substring(0, colon).replaceAll("^\\[(.+)]$", "$1");
                if (!HOST.matcher(host).matches()) {
                    throw bad(text, "'" + host + "' is not a host");
                }
                port = port(text, authority.substring(colon + 1));
            }
            case "file" -> {
                path = decode(url.group("path"));
                if (!authority.isEmpty() || path.isEmpty()) {
                    throw bad(text, "it needs an absolute path after two slashes");
                }
                if (path.equals("/") || path.indexOf('\0') >= 0) {
                    throw bad(text, "it names no file");
                }
            }
            default -> throw bad(text, "the scheme '" + scheme + "' is unknown");
        }
        return new InitMethod(text, scheme, host, port, path, rank, worldSize);
    }

    private static Map<String, String> query(String text, String query) {
        Map<String, String> parameters = new HashMap<>();
        if (query == null || query.isEmpty()) {
            return parameters;
        }
        for (String pair : query.split("&")) {
            String[] parts = pair.split("=", 2);
            String name = decode(parts[0]);
            if (!PARAMETERS.contains(name)) {
                throw bad(text, "the parameter '" + name + "' is unknown");
            }
            String value = parts.length == 2 ? decode(parts[1]) : "";
            if (parameters.put(name, value) != null) {
                throw bad(text, "the parameter '" + name + "' is given twice");
            }
        }
        return parameters;
    }

    /** Decodes a part of a URL. A plus sign is not a space, except in forms. */
    private static String decode(String text) {
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException e) {
            throw bad(text, e.getMessage());
        }
    }

    private static OptionalInt number(
            String text, Map<String, String> query, String name, int least) {
        String value = query.get(name);
        if (value == null) {
            return OptionalInt.empty();
        }
        try {
            int number = Integer.parseInt(value);
            if (number >= least) {
                return OptionalInt.of(number);
            }
        } catch (NumberFormatException notANumber) {
            // Reported below, as a number out of range is.
        }
        throw bad(text, name + "=" + value + " must be a number of " + least + " or more");
    }

    private static int port(String text, String value) {
        try {
            int port = Integer.parseInt(value);
            if (port >= 0 && port <= HIGHEST_PORT) {
                return port;
            }
        } catch (NumberFormatException notANumber) {
            // Reported below, as a number out of range is.
        }
        throw bad(text, "the port " + value + " must be a number from 0 to " + HIGHEST_PORT);
    }

    private static BootstrapException bad(String text, String why) {
        return new BootstrapException(
                FailureContext.NONE,
                "init method '%s': %s. Use env://, tcp://host:port?rank=R&world_size=W or file:///path?rank=R&world_size=W"
                        .formatted(text, why));
    }
}

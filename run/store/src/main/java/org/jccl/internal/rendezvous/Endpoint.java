package org.jccl.internal.rendezvous;

import java.util.OptionalInt;
import java.util.regex.Pattern;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Where a store is, as users write it: {@code host}, {@code host:port}, {@code [address]:port} or
 * {@code address:port}. Gives torchrun's answers, with these exceptions: {@code ::1} is an address,
 * an address may name an interface, and a port without a host is rejected.
 *
 * @param host a name or address without brackets
 * @param port empty if the text has none
 */
public record Endpoint(String host, OptionalInt port) {

    private static final int MAX_PORT = 65535;

    private static final Pattern NAME =
            Pattern.compile("[\\w.-]+", Pattern.UNICODE_CHARACTER_CLASS);

    /** An address of IPv6, optionally with the name of an interface. */
    private static final Pattern IPV6 =
            Pattern.compile("[0-9A-Fa-f]*:[0-9A-Fa-f.:]*:[0-9A-Fa-f.]*(%[\\w.-]+)?");

    /**
     * One that ends like an address with a port, but is not: all its parts, or a gap at the end.
     */
    private static final Pattern WHOLE_IPV6 =
            Pattern.compile("[0-9A-Fa-f:]*::[0-9A-Fa-f]*|([0-9A-Fa-f]+:){7}[0-9A-Fa-f]+");

    private static final Pattern PORT = Pattern.compile("[0-9]{1,5}");

    /**
     * Reads an endpoint.
     *
     * @param setting its option or variable, for the message
     * @throws UsageException if it is not an endpoint
     */
    public static Endpoint parse(String setting, String text) {
        String all = text.strip();
        int colon = all.lastIndexOf(':');
        boolean hasPort =
                colon >= 0
                        && !all.endsWith("]")
                        && (all.startsWith("[") || !all.contains("%"))
                        && !WHOLE_IPV6.matcher(all).matches();
        if (!hasPort) {
            if (PORT.matcher(all).matches()) {
                throw bad(setting, text, "it is a number without a host");
            }
            return new Endpoint(host(setting, text, all), OptionalInt.empty());
        }
        String port = all.substring(colon + 1);
        if (!PORT.matcher(port).matches() || Integer.parseInt(port) > MAX_PORT) {
            throw bad(setting, text, "the port must be a number from 0 to " + MAX_PORT);
        }
        return new Endpoint(
                host(setting, text, all.substring(0, colon)),
                OptionalInt.of(Integer.parseInt(port)));
    }

    /**
     * Reads a host that has its port elsewhere.
     *
     * @param setting its option or variable, for the message
     * @return the host without brackets
     * @throws UsageException if it is not a host, or has a port
     */
    public static String host(String setting, String text) {
        Endpoint endpoint = parse(setting, text);
        if (endpoint.port.isEmpty()) {
            return endpoint.host;
        }
        if (IPV6.matcher(text.strip()).matches()) {
            return text.strip(); // ends like an address with a port
        }
        throw bad(setting, text, "give the port separately");
    }

    /**
     * Returns the text of a URL: the host, in brackets if it is an address of IPv6, and the port.
     */
    public String authority(int defaultPort) {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port.orElse(defaultPort);
    }

    private static String host(String setting, String text, String part) {
        boolean bracketed = part.length() > 2 && part.startsWith("[") && part.endsWith("]");
        String host = bracketed ? part.substring(1, part.length() - 1) : part;
        boolean valid =
                host.contains(":") ? IPV6.matcher(host).matches() : NAME.matcher(host).matches();
        if (!valid) {
            throw bad(setting, text, "'" + host + "' is not a host");
        }
        return host;
    }

    private static UsageException bad(String setting, String text, String why) {
        return new UsageException(
                FailureContext.NONE,
                "%s=%s: %s. Write host, host:port or [IPv6 address]:port"
                        .formatted(setting, text, why));
    }
}

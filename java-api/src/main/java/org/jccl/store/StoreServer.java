package org.jccl.store;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A server of a {@link ReplicatedStore}.
 *
 * @param host its name or address
 * @param port its port
 * @param id the value of its key {@code jccl/server-id}
 */
public record StoreServer(String host, int port, String id) {

    /** The key of the id of a server, which it has from its start. */
    public static final String ID_KEY = Replica.ID;

    private static final Pattern TEXT = Pattern.compile("\\[?([^\\[\\]=,]+)]?:(\\d{1,5})=([^=,]+)");

    /**
     * Checks the names.
     *
     * @param host its name or address
     * @param port its port
     * @param id the value of its key {@code jccl/server-id}
     * @throws org.jccl.UsageException if the host or the id is null
     */
    public StoreServer {
        if (host == null || id == null) {
            throw StoreArguments.usage(
                    "a server of a replicated store has host %s and id %s; null is none"
                            .formatted(host, id));
        }
    }

    /**
     * Reads the result of {@link #text}.
     *
     * @param text {@code host:port=id} of each server, separated by commas
     * @return the servers
     * @throws org.jccl.UsageException if it is something else
     */
    public static List<StoreServer> parse(String text) {
        List<StoreServer> servers = new ArrayList<>();
        for (String each : StoreArguments.key(text).split(",", -1)) {
            Matcher parts = TEXT.matcher(each);
            if (!parts.matches()) {
                throw StoreArguments.usage(
                        "'%s' in the list of servers '%s' is not host:port=id"
                                .formatted(each, text));
            }
            servers.add(
                    new StoreServer(
                            parts.group(1), Integer.parseInt(parts.group(2)), parts.group(3)));
        }
        return List.copyOf(servers);
    }

    /**
     * Returns a text from which other processes learn of the servers.
     *
     * @param servers the servers
     * @return {@code host:port=id} of each, separated by commas
     */
    public static String text(List<StoreServer> servers) {
        return servers.stream().map(StoreServer::toString).collect(Collectors.joining(","));
    }

    @Override
    public String toString() {
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port + "=" + id;
    }
}

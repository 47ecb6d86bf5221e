package org.jccl.launch;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.StoreException;
import org.jccl.internal.rendezvous.HostedStore;
import org.jccl.internal.rendezvous.TimeLimit;
import org.jccl.spi.Polling;
import org.jccl.spi.WaitLog;
import org.jccl.store.ReplicatedStore;
import org.jccl.store.StoreServer;
import org.jccl.store.TcpStore;

/**
 * The servers of a replicated store. Each of the first launchers serves one, with a random id.
 *
 * <p>The launchers agree on the list of the ids: when all servers are there and none has a list,
 * whoever writes one first wins. Launchers go on when more than half of the servers have the list.
 * So a launcher that is started again, with an empty server, finds the list of the job at another
 * server, and its own does not count.
 */
final class StoreServers implements AutoCloseable {

    /** The key of the list. */
    private static final String LIST = "jccl/servers";

    private static final Duration JOIN_LIMIT = Duration.ofMinutes(5);
    private static final Duration LOOK = Duration.ofSeconds(1);
    private static final Duration PAUSE = Duration.ofMillis(200);
    private static final byte[] NONE = {};

    private final LaunchSettings settings;
    private final Optional<HostedStore> own;
    private final List<StoreServer> servers;

    /** Why the last server that was not reached was not, for messages. */
    private volatile String unreachable = "";

    private StoreServers(LaunchSettings settings, Optional<HostedStore> own, TimeLimit limit) {
        this.settings = settings;
        this.own = own;
        this.servers = agree(limit);
    }

    /**
     * Serves this launcher's server, if it has one, and finds the others.
     *
     * @throws BootstrapException if they cannot be found in time
     */
    static StoreServers open(LaunchSettings settings, TimeLimit limit) {
        Optional<HostedStore> own = Optional.empty();
        if (settings.servesStore()) {
            String endpoint = settings.endpoints().get(settings.nodeRank());
            byte[] id = StoredText.bytes(UUID.randomUUID().toString());
            own =
                    Optional.of(
                            HostedStore.serve(
                                    ElasticNodes.host(endpoint),
                                    ElasticNodes.port(endpoint),
                                    Map.of(StoreServer.ID_KEY, id),
                                    settings.tls(),
                                    limit.atMost(JOIN_LIMIT)));
        }
        try {
            return new StoreServers(settings, own, limit);
        } catch (RuntimeException | Error e) {
            own.ifPresent(HostedStore::close);
            throw e;
        }
    }

    List<StoreServer> all() {
        return servers;
    }

    /** Connects to the store. */
    ReplicatedStore connect(Duration timeout) {
        return ReplicatedStore.connect(servers, settings.tls(), timeout);
    }

    private List<StoreServer> agree(TimeLimit job) {
        TimeLimit limit = TimeLimit.in(job.atMost(JOIN_LIMIT));
        return WaitLog.during(
                "node " + settings.nodeRank(),
                () -> Optional.of("not all servers of the store are there: " + unreachable),
                () -> {
                    while (!limit.isOver()) {
                        Optional<String> list = look();
                        if (list.isPresent()) {
                            return checked(StoreServer.parse(list.get()));
                        }
                        Polling.sleep(PAUSE);
                    }
                    throw new BootstrapException(
                            FailureContext.NONE,
                            "node %s: not all servers of the job's store came, at %s: %s. Start 'jccl run' on each of their hosts, with its --node-rank and the same --rdzv-endpoint"
                                    .formatted(
                                            settings.nodeRank(),
                                            settings.endpoints(),
                                            unreachable));
                });
    }

    /** Returns the list if more than half of the servers have it now. */
    private Optional<String> look() {
        List<TcpStore> clients = new ArrayList<>();
        try {
            for (String endpoint : settings.endpoints()) {
                String host = ElasticNodes.host(endpoint);
                int port = ElasticNodes.port(endpoint);
                try {
                    clients.add(HostedStore.client(host, port, settings.tls(), LOOK));
                } catch (StoreException e) {
                    unreachable = e.getMessage();
                }
            }
            return agree(clients);
        } catch (StoreException e) {
            unreachable = e.getMessage();
            return Optional.empty();
        } finally {
            clients.forEach(TcpStore::close);
        }
    }

    private Optional<String> agree(List<TcpStore> clients) {
        int size = settings.endpoints().size();
        String list = "";
        for (TcpStore client : clients) {
            if (list.isEmpty()) {
                list = StoredText.find(client, LIST).orElse("");
            }
        }
        if (list.isEmpty()) {
            if (clients.size() < size) {
                return Optional.empty();
            }
            List<StoreServer> found = new ArrayList<>();
            for (TcpStore client : clients) {
                found.add(new StoreServer(client.host(), client.port(), id(client)));
            }
            list = StoreServer.text(found);
        }
        int same = 0;
        for (TcpStore client : clients) {
            String there = StoredText.text(client.compareSet(LIST, NONE, StoredText.bytes(list)));
            same += there.equals(list) && list.contains("=" + id(client)) ? 1 : 0;
        }
        return same > size / 2 ? Optional.of(list) : Optional.empty();
    }

    private static String id(TcpStore server) {
        return StoredText.text(server.get(StoreServer.ID_KEY));
    }

    private List<StoreServer> checked(List<StoreServer> all) {
        List<String> endpoints =
                all.stream().map(each -> each.toString().replaceFirst("=.*", "")).toList();
        if (!endpoints.equals(settings.endpoints())) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "node %s was started with --rdzv-endpoint %s, but the servers of the job's store are %s: give every node the same"
                            .formatted(settings.nodeRank(), settings.endpoints(), endpoints));
        }
        return all;
    }

    @Override
    public void close() {
        own.ifPresent(HostedStore::close);
    }
}

package org.jccl.conformance.inmemory;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.Availability;
import org.jccl.Store;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;

/** Connects the ranks that share this object. */
public final class InMemoryProvider implements BackendProvider {

    private final Map<String, Hub> hubs = new ConcurrentHashMap<>();

    @Override
    public String name() {
        return "memory";
    }

    @Override
    public Set<String> deviceTypes() {
        return Set.of("cpu");
    }

    @Override
    public Availability availability() {
        return new Availability.Available("1", "this process");
    }

    @Override
    public Communicator create(CommunicatorConfig config) {
        Store store = config.store().orElseThrow();
        byte[] mine = UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8);
        String id = new String(store.compareSet("hub", new byte[0], mine), StandardCharsets.UTF_8);
        Hub hub = hubs.computeIfAbsent(id, created -> new Hub(config.size()));
        store.set("rank/" + config.rank(), mine);
        List<String> all =
                java.util.stream.IntStream.range(0, config.size())
                        .mapToObj(rank -> "rank/" + rank)
                        .toList();
        store.await(all, config.joinTimeout());
        return new InMemoryCommunicator(hub, config.rank());
    }
}

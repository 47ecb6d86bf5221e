package com.example.threads;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.Availability;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;

/** Connects ranks that are threads of one process. */
public final class ThreadsProvider implements BackendProvider {

    private static final String KEY = "hub";
    private static final int ID_LENGTH = 36;

    /** Of all providers: each rank has its own, but all must find one hub. */
    private static final Map<String, Hub> HUBS = new ConcurrentHashMap<>();

    /** For the service loader; loads nothing. */
    public ThreadsProvider() {}

    @Override
    public String name() {
        return "threads";
    }

    @Override
    public Set<String> deviceTypes() {
        return Set.of("cpu");
    }

    @Override
    public Availability availability() {
        return new Availability.Available("1", "this process");
    }

    /** {@inheritDoc} A program must name this backend. */
    @Override
    public int preference() {
        return -1;
    }

    @Override
    public Communicator create(CommunicatorConfig config) {
        return join(config);
    }

    /** Meets the other ranks of a group. */
    static ThreadsCommunicator join(CommunicatorConfig config) {
        return config.join(KEY, List.of(KEY), () -> connect(config));
    }

    private static ThreadsCommunicator connect(CommunicatorConfig config) {
        if (config.rank() == 0) {
            String id = UUID.randomUUID().toString();
            HUBS.put(id, new Hub(config.size()));
            config.requireStore("threads meet through a store")
                    .set(KEY, id.getBytes(StandardCharsets.US_ASCII));
        }
        byte[] fetched = config.fetch(KEY, ID_LENGTH, "hub id", config.joinTimeout());
        String id = new String(fetched, StandardCharsets.US_ASCII);
        Hub hub = HUBS.get(id);
        if (hub == null) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "rank 0 is in another process; the backend 'threads' is for ranks of one");
        }
        if (hub.join(config.rank())) {
            HUBS.remove(id);
        }
        return new ThreadsCommunicator(hub, config.rank(), config.size());
    }
}

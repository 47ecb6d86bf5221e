package com.example.threads;

import java.util.Set;
import org.jccl.Availability;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;

/** A backend with devices of its own, for ranks that are threads of one process. */
public final class QueuesProvider implements BackendProvider {

    static final String DEVICE_TYPE = "queue";

    /** Of all providers: streams and memory are those of the process. */
    private static final QueuesRuntime RUNTIME = new QueuesRuntime();

    /** For the service loader; loads nothing. */
    public QueuesProvider() {}

    @Override
    public String name() {
        return "queues";
    }

    @Override
    public Set<String> deviceTypes() {
        return Set.of(DEVICE_TYPE);
    }

    @Override
    public DeviceRuntime deviceRuntime(String deviceType) {
        return RUNTIME;
    }

    @Override
    public Availability availability() {
        return new Availability.Available("1", "this process");
    }

    @Override
    public Communicator create(CommunicatorConfig config) {
        return new QueuesCommunicator(ThreadsProvider.join(config), RUNTIME);
    }
}

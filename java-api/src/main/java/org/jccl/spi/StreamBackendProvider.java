package org.jccl.spi;

import java.util.Set;
import org.jccl.BackendUnavailableException;

/**
 * Base of the providers whose library enqueues on the streams of one type of device. It checks that
 * the library can be used before it hands out the runtime or a communicator.
 */
public abstract class StreamBackendProvider implements BackendProvider {

    private final String name;
    private final String deviceType;

    /**
     * Creates the provider and loads nothing.
     *
     * @param name of the backend, in lower case
     * @param deviceType of its devices, see {@link org.jccl.Device#type()}
     */
    protected StreamBackendProvider(String name, String deviceType) {
        this.name = name;
        this.deviceType = deviceType;
    }

    /**
     * Returns the runtime of the devices.
     *
     * @return streams, events and memory; called after {@link #availability()} said yes
     */
    protected abstract DeviceRuntime runtime();

    /**
     * Connects to the other ranks.
     *
     * @param config the group
     * @return the communicator of this rank; called after {@link #availability()} said yes
     * @throws org.jccl.JcclException if a peer does not arrive in time or the library fails
     */
    protected abstract StreamCommunicator connect(CommunicatorConfig config);

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final Set<String> deviceTypes() {
        return Set.of(deviceType);
    }

    /**
     * {@inheritDoc}
     *
     * @throws BackendUnavailableException if the libraries can not be used
     */
    @Override
    public final DeviceRuntime deviceRuntime(String type) {
        requireAvailable();
        return runtime();
    }

    /**
     * {@inheritDoc}
     *
     * @throws BackendUnavailableException if the libraries can not be used
     */
    @Override
    public final StreamCommunicator create(CommunicatorConfig config) {
        requireAvailable();
        return connect(config);
    }
}

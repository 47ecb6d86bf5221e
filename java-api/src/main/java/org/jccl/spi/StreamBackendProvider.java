package org.jccl.spi;

import java.util.Set;
import org.jccl.BackendUnavailableException;

/**
 * Base of providers whose library enqueues on the streams of one type of device. It checks that the
 * library is available before it returns the runtime or a communicator.
 */
public abstract class StreamBackendProvider implements BackendProvider {

    private final String name;
    private final String deviceType;

    /**
     * Creates the provider. Loads nothing.
     *
     * @param name the name of the backend, in lower case
     * @param deviceType the type of its devices, see {@link org.jccl.Device#type()}
     */
    protected StreamBackendProvider(String name, String deviceType) {
        this.name = name;
        this.deviceType = deviceType;
    }

    /**
     * Returns the runtime of the devices. Called only if the library is available.
     *
     * @return streams, events and memory
     */
    protected abstract DeviceRuntime runtime();

    /**
     * Connects to the other ranks. Called only if the library is available.
     *
     * @param config the group
     * @return the communicator of this rank
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
     * @throws BackendUnavailableException if the libraries cannot be used
     */
    @Override
    public final DeviceRuntime deviceRuntime(String type) {
        requireAvailable();
        return runtime();
    }

    /**
     * {@inheritDoc}
     *
     * @throws BackendUnavailableException if the libraries cannot be used
     */
    @Override
    public final StreamCommunicator create(CommunicatorConfig config) {
        requireAvailable();
        return connect(config);
    }
}

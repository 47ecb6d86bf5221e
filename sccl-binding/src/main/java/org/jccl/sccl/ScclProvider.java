package org.jccl.sccl;

import java.util.Set;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.StreamCommunicator;

/**
 * SCCL, for tensors in the memory of Sophgo TPUs. The jar carries no vendor code: libtpudnn,
 * libtpurt and libsccl are looked for on the host when {@link #availability()} is asked for the
 * first time in a process.
 */
public final class ScclProvider implements BackendProvider {

    static final String NAME = "sccl";

    static final String DEVICE_TYPE = "tpu";

    /** Creates the provider; nothing is loaded yet. */
    public ScclProvider() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Set<String> deviceTypes() {
        return Set.of(DEVICE_TYPE);
    }

    @Override
    public Availability availability() {
        return ScclLibraries.get().availability();
    }

    /**
     * {@inheritDoc}
     *
     * @throws BackendUnavailableException when the libraries can not be used
     */
    @Override
    public DeviceRuntime deviceRuntime(String deviceType) {
        requireAvailable();
        return ScclLibraries.get().runtime();
    }

    /**
     * {@inheritDoc}
     *
     * @throws BackendUnavailableException when the libraries can not be used
     */
    @Override
    public StreamCommunicator create(CommunicatorConfig config) {
        requireAvailable();
        return new ScclConnector(ScclLibraries.get(), config).connect();
    }
}

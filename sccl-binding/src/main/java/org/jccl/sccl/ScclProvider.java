package org.jccl.sccl;

import org.jccl.Availability;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.StreamBackendProvider;
import org.jccl.spi.StreamCommunicator;

/**
 * SCCL, for tensors in the memory of Sophgo TPUs. The jar contains no vendor code. The first call
 * of {@link #availability()} in a process searches for libtpudnn, libtpurt and libsccl on the host.
 */
public final class ScclProvider extends StreamBackendProvider {

    static final String NAME = "sccl";

    static final String DEVICE_TYPE = "tpu";

    /** Creates the provider; nothing is loaded yet. */
    public ScclProvider() {
        super(NAME, DEVICE_TYPE);
    }

    @Override
    public Availability availability() {
        return ScclLibraries.get().availability();
    }

    @Override
    protected DeviceRuntime runtime() {
        return ScclLibraries.get().runtime();
    }

    @Override
    protected StreamCommunicator connect(CommunicatorConfig config) {
        return new ScclConnector(ScclLibraries.get(), config).connect();
    }
}

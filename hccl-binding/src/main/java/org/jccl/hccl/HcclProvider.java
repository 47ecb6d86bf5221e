package org.jccl.hccl;

import java.util.Set;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.StreamCommunicator;

/**
 * HCCL, for tensors in the memory of Ascend devices. The jar carries no vendor code: ACL and HCCL
 * are looked for on the host when {@link #availability()} is asked for the first time in a process.
 */
public final class HcclProvider implements BackendProvider {

    static final String NAME = "hccl";

    static final String DEVICE_TYPE = "npu";

    /** Creates the provider; nothing is loaded yet. */
    public HcclProvider() {}

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
        return HcclLibraries.get().availability();
    }

    /**
     * {@inheritDoc}
     *
     * @throws BackendUnavailableException when the libraries can not be used
     */
    @Override
    public DeviceRuntime deviceRuntime(String deviceType) {
        requireAvailable();
        return HcclLibraries.get().runtime();
    }

    /**
     * {@inheritDoc}
     *
     * @throws BackendUnavailableException when the libraries can not be used
     */
    @Override
    public StreamCommunicator create(CommunicatorConfig config) {
        requireAvailable();
        return HcclConnector.connect(config, HcclLibraries.get());
    }
}

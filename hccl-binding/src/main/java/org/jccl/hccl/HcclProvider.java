package org.jccl.hccl;

import org.jccl.Availability;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.StreamBackendProvider;
import org.jccl.spi.StreamCommunicator;

/**
 * HCCL, for tensors in the memory of Ascend devices. The jar contains no vendor code. The first
 * call of {@link #availability()} in a process searches for ACL and HCCL on the host.
 */
public final class HcclProvider extends StreamBackendProvider {

    static final String NAME = "hccl";

    static final String DEVICE_TYPE = "npu";

    /** Creates the provider; nothing is loaded yet. */
    public HcclProvider() {
        super(NAME, DEVICE_TYPE);
    }

    @Override
    public Availability availability() {
        return HcclLibraries.get().availability();
    }

    @Override
    protected DeviceRuntime runtime() {
        return HcclLibraries.get().runtime();
    }

    @Override
    protected StreamCommunicator connect(CommunicatorConfig config) {
        return HcclConnector.connect(config, HcclLibraries.get());
    }
}

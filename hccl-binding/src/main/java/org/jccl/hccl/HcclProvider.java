package org.jccl.hccl;

import org.jccl.Availability;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.StreamBackendProvider;
import org.jccl.spi.StreamCommunicator;

/**
 * HCCL, for tensors in the memory of Ascend devices. The jar carries no vendor code: ACL and HCCL
 * are looked for on the host when {@link #availability()} is asked for the first time in a process.
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

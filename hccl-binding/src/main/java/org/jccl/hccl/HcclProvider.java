package org.jccl.hccl;

import java.util.Optional;
import java.util.OptionalInt;
import org.jccl.Availability;
import org.jccl.BackendOptions;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.StreamBackendProvider;
import org.jccl.spi.StreamCommunicator;

/**
 * The provider of HCCL, for tensors in the memory of Ascend devices. The jar contains no vendor
 * code. The first call of {@link #availability()} in a process searches for ACL and HCCL on the
 * host.
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

    /** {@inheritDoc} A rank table names it. */
    @Override
    public OptionalInt device(int rank, Optional<BackendOptions> options) {
        HcclOptions chosen =
                BackendProvider.options(options, HcclOptions.class)
                        .orElseGet(HcclOptions::defaults);
        return RankTableFile.of(chosen, System.getenv())
                .map(file -> RankTableFile.device(file, rank, HcclLibraries.get()))
                .orElse(OptionalInt.empty());
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

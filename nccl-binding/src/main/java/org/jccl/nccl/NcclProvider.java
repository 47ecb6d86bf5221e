package org.jccl.nccl;

import java.util.Set;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.Interop;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.StreamCommunicator;

/**
 * NCCL, for tensors in the memory of CUDA devices. The jar carries no vendor code: the driver, the
 * CUDA runtime and NCCL are looked for on the host when {@link #availability()} is asked for the
 * first time in a process.
 */
public final class NcclProvider implements BackendProvider {

    static final String NAME = "nccl";

    static final String DEVICE_TYPE = "cuda";

    /** Creates the provider; nothing is loaded yet. */
    public NcclProvider() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Set<String> deviceTypes() {
        return Set.of(DEVICE_TYPE);
    }

    /**
     * {@inheritDoc}
     *
     * <p>A world of more ranks than {@code TORCH_NCCL_RANKS_PER_ROOT} says is refused in {@link
     * #create}: PyTorch's ranks form it in another way.
     */
    @Override
    public boolean supports(Interop interop) {
        return true;
    }

    @Override
    public Availability availability() {
        return NcclLibraries.get().availability();
    }

    /**
     * {@inheritDoc}
     *
     * @throws BackendUnavailableException when the libraries can not be used
     */
    @Override
    public DeviceRuntime deviceRuntime(String deviceType) {
        requireAvailable();
        return new CudaRuntime(NcclLibraries.get().deviceCount());
    }

    /**
     * {@inheritDoc}
     *
     * @throws BackendUnavailableException when the libraries can not be used
     */
    @Override
    public StreamCommunicator create(CommunicatorConfig config) {
        requireAvailable();
        return NcclConnector.connect(config);
    }
}

package org.jccl.nccl;

import java.util.Optional;
import org.jccl.Availability;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.UsageException;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.DeviceRuntime;
import org.jccl.spi.StreamBackendProvider;
import org.jccl.spi.StreamCommunicator;

/**
 * The provider of NCCL, for tensors in the memory of CUDA devices. The jar contains no vendor code.
 * The first call of {@link #availability()} in a process searches for the driver, the CUDA runtime
 * and NCCL on the host.
 */
public final class NcclProvider extends StreamBackendProvider {

    static final String NAME = "nccl";

    static final String DEVICE_TYPE = "cuda";

    /** Creates the provider; nothing is loaded yet. */
    public NcclProvider() {
        super(NAME, DEVICE_TYPE);
    }

    @Override
    public boolean supports(Interop interop) {
        return true;
    }

    /** {@inheritDoc} PyTorch has three names, of which {@code nccl} is an alias for one. */
    @Override
    public Optional<Interop> named(String name, Interop interop) {
        if (name == null || interop == null) {
            throw new UsageException(
                    FailureContext.NONE, "the name of a backend or the other API is null");
        }
        return interop == Interop.NONE ? super.named(name, interop) : NcclKeys.named(name, interop);
    }

    @Override
    public Availability availability() {
        return NcclLibraries.get().availability();
    }

    @Override
    protected DeviceRuntime runtime() {
        return new CudaRuntime(NcclLibraries.get().deviceCount());
    }

    @Override
    protected StreamCommunicator connect(CommunicatorConfig config) {
        return NcclConnector.connect(config);
    }
}

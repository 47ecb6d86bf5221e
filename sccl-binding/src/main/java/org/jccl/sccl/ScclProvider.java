package org.jccl.sccl;

import java.util.List;
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
 * The provider of SCCL, for tensors in the memory of Sophgo TPUs. The jar contains no vendor code.
 * The first call of {@link #availability()} in a process searches for libtpudnn, libtpurt and
 * libsccl on the host.
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

    /** {@inheritDoc} A chip map or a rank table names it. */
    @Override
    public OptionalInt device(int rank, Optional<BackendOptions> options) {
        List<Integer> chips =
                BackendProvider.options(options, ScclOptions.class)
                        .orElseGet(ScclOptions::defaults)
                        .chipMap();
        if (chips.isEmpty()) {
            chips = ScclOptions.from(System.getenv()).chipMap();
        }
        return rank >= 0 && rank < chips.size()
                ? OptionalInt.of(chips.get(rank))
                : OptionalInt.empty();
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

package org.jccl.nccl;

import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * The native ncclConfig_t of one communicator. NCCL reads the network's name in it later too, so
 * the communicator's {@link NcclHandle} keeps it until NCCL has let go.
 */
final class NcclConfig implements AutoCloseable {

    /** Leaves the choice to NCCL. */
    private static final int UNSET = Integer.MIN_VALUE;

    /** As NCCL codes it: older ones do not read the traffic class. */
    private static final int TRAFFIC_CLASS_VERSION = 22600;

    private final long address;

    /**
     * Copies the options.
     *
     * @param options of the group
     * @param splitShare whether communicators that are split off share what this one has
     * @throws UsageException if the library is too old for an option
     */
    NcclConfig(NcclOptions options, boolean splitShare) {
        int version = NcclLibraries.get().version();
        if (options.trafficClass().isPresent() && version < TRAFFIC_CLASS_VERSION) {
            throw new UsageException(
                    FailureContext.NONE,
                    "NCCL options: trafficClass needs NCCL 2.26 or later, and this process has %s; update NCCL, or leave the option out"
                            .formatted(NcclLibraries.versionText(version)));
        }
        address =
                NcclNative.newConfig(
                        options.blocking() ? 1 : 0,
                        options.cgaClusterSize().orElse(UNSET),
                        options.minCtas().orElse(UNSET),
                        options.maxCtas().orElse(UNSET),
                        splitShare ? 1 : UNSET,
                        options.trafficClass().orElse(UNSET),
                        options.networkName().orElse(null));
        if (address == 0) {
            throw new OutOfMemoryError("native memory for an ncclConfig_t");
        }
    }

    /** To be passed to the call that forms the communicator. */
    long address() {
        return address;
    }

    @Override
    public void close() {
        NcclNative.freeConfig(address);
    }
}

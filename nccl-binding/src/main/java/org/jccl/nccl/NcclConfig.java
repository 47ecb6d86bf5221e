package org.jccl.nccl;

/**
 * The native ncclConfig_t of one communicator. NCCL reads the network's name in it later too, so
 * the communicator's {@link NcclHandle} keeps it until NCCL has let go.
 */
final class NcclConfig implements AutoCloseable {

    /** Leaves the choice to NCCL. */
    private static final int UNSET = Integer.MIN_VALUE;

    private final long address;

    /**
     * Copies the options.
     *
     * @param options of the group
     * @param splitShare whether communicators that are split off share what this one has
     */
    NcclConfig(NcclOptions options, boolean splitShare) {
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

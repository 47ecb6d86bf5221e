package org.jccl.nccl;

import java.util.Optional;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.nccl.NcclOptions.CtaPolicy;
import org.jccl.nccl.NcclOptions.Registration;

/**
 * The native ncclConfig_t of one communicator. NCCL also reads its names later, so the
 * communicator's {@link NcclHandle} retains it until NCCL no longer uses it.
 */
final class NcclConfig implements AutoCloseable {

    /** Lets NCCL choose. */
    private static final int UNSET = Integer.MIN_VALUE;

    private static final int NAME_VERSION = 22700;

    private final long address;

    /**
     * Copies the options.
     *
     * @param options of the group
     * @param splitShare whether communicators from a split share this one's resources
     * @param group the name of the communicator, if the options have none
     * @throws UsageException if the library is too old for an option
     */
    NcclConfig(NcclOptions options, boolean splitShare, String group) {
        // Older libraries do not read the fields.
        require(options.trafficClass().isPresent(), "trafficClass", 22600);
        require(options.communicatorName().isPresent(), "communicatorName", NAME_VERSION);
        require(options.ctaPolicy().isPresent(), "ctaPolicy", 22700);
        require(options.ctaPolicy().equals(Optional.of(CtaPolicy.ZERO)), "ctaPolicy ZERO", 22800);
        require(options.nvlsCtas().isPresent(), "nvlsCtas", 22700);
        require(options.collnet(), "collnet", 22700);
        require(options.registration() == Registration.WINDOWS, "registration WINDOWS", 22700);
        boolean named = NcclLibraries.get().version() >= NAME_VERSION;
        address =
                NcclNative.newConfig(
                        options.blocking() ? 1 : 0,
                        options.cgaClusterSize().orElse(UNSET),
                        options.minCtas().orElse(UNSET),
                        options.maxCtas().orElse(UNSET),
                        splitShare ? 1 : UNSET,
                        options.trafficClass().orElse(UNSET),
                        options.collnet() ? 1 : UNSET,
                        options.ctaPolicy().map(CtaPolicy::ordinal).orElse(UNSET),
                        options.nvlsCtas().orElse(UNSET),
                        options.networkName().orElse(null),
                        named ? options.communicatorName().orElse(group) : null);
        if (address == 0) {
            throw new OutOfMemoryError("native memory for an ncclConfig_t");
        }
    }

    private static void require(boolean given, String option, int needed) {
        int version = NcclLibraries.get().version();
        if (given && version < needed) {
            throw new UsageException(
                    FailureContext.NONE,
                    "NCCL options: %s needs NCCL %d.%d or later, and this process has %s; update NCCL, or leave the option out"
                            .formatted(
                                    option,
                                    needed / 10000,
                                    needed / 100 % 100,
                                    NcclLibraries.versionText(version)));
        }
    }

    /** Returns the address for the call that forms the communicator. */
    long address() {
        return address;
    }

    @Override
    public void close() {
        NcclNative.freeConfig(address);
    }
}

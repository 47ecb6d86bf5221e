package org.jccl.mpi;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jccl.FailureContext;
import org.jccl.OperationTimeoutException;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.Durations;

/**
 * Forms a communicator of the group's ranks in MPI's world. MPI waits without limit for a rank that
 * does not take part, so it must not block the caller.
 */
final class MpiConnector {

    private MpiConnector() {}

    static MpiCommunicator connect(
            CommunicatorConfig config, MpiOptions options, FailureContext context) {
        long deadline = System.nanoTime() + config.joinTimeout().toNanos();
        Members members = new Members(config, options, context);
        int[] worldRanks = members.worldRanks();
        boolean onDevice = !config.device().isCpu();
        // The tag distinguishes members that call at the same time for different groups.
        int tag = (config.groupName().hashCode() & Integer.MAX_VALUE) % MpiNative.largestTag();
        LongSupplier forming =
                () ->
                        MpiNative.create(
                                worldRanks,
                                worldRanks.length,
                                tag,
                                options.checks() ? 1 : 0,
                                options.trustedSizes() ? 1 : 0,
                                onDevice ? 1 : 0);
        AtomicLong formed = new AtomicLong();
        if (options.sharedWorld() && config.parent().isEmpty()) {
            formed.set(MpiErrors.answered(MpiNative.sharedWorld()));
        } else if (!BoundedCall.run(
                "jccl-mpi-connect-" + config.groupName() + "-" + config.rank(),
                () -> formed.set(MpiErrors.answered(forming.getAsLong())),
                Duration.ofNanos(Math.max(1, deadline - System.nanoTime())))) {
            throw OperationTimeoutException.ofCall(
                    context,
                    "MPI did not form the communicator within "
                            + Durations.rounded(config.joinTimeout())
                            + ": "
                            + members.giveUp()
                            + "; MPI cannot cancel this: end this process",
                    null);
        }
        members.leave();
        return new MpiCommunicator(formed.get(), worldRanks, onDevice);
    }
}

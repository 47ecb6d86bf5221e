package org.jccl.mpi;

import org.jccl.FailureContext;
import org.jccl.spi.CommunicatorConfig;

/** Forms a communicator of those ranks of MPI's world that are the group's. */
final class MpiConnector {

    private MpiConnector() {}

    static MpiCommunicator connect(
            CommunicatorConfig config, MpiOptions options, FailureContext context) {
        Members members = new Members(config, options, context);
        int[] worldRanks = members.worldRanks();
        boolean onDevice = !config.device().isCpu();
        boolean blocking = options.blockingCalls() || !MpiCommunicator.starts(onDevice);
        // Ranks that have compared what they issue have all come, so none waits inside for good.
        boolean checked = options.checks() || !MpiCommunicator.starts(onDevice);
        // Members that call at the same time for different groups are told apart by the tag.
        int tag = (config.groupName().hashCode() & Integer.MAX_VALUE) % MpiNative.largestTag();
        long handle =
                options.sharedWorld() && config.parent().isEmpty()
                        ? MpiNative.sharedWorld()
                        : MpiNative.create(
                                worldRanks,
                                worldRanks.length,
                                tag,
                                blocking ? 1 : 0,
                                checked ? 1 : 0,
                                options.trustedSizes() ? 1 : 0);
        if (handle < 0) {
            throw MpiErrors.of((int) -handle);
        }
        members.leave();
        return new MpiCommunicator(handle, worldRanks, onDevice);
    }
}

package org.jccl.spi;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jccl.BackendOptions;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.store.Store;

/**
 * What a binding needs to form a communicator.
 *
 * @param groupName name of the group, the same on every rank, unique in the job
 * @param rank this process's rank in the new group
 * @param size number of ranks in the new group
 * @param store where the ranks of this group meet, private to this backend; empty when it needs
 *     none
 * @param timeout deadline of forming the communicator and of each operation on it
 * @param device where its tensors live
 * @param interop what else may be a rank; one that the provider supports
 * @param options the backend's options, or empty
 * @param parent the communicator this group was made from, or empty
 * @param parentRanks for each new rank its rank in the parent; empty without parent
 */
public record CommunicatorConfig(
        String groupName,
        int rank,
        int size,
        Optional<Store> store,
        Duration timeout,
        Device device,
        Interop interop,
        Optional<BackendOptions> options,
        Optional<Communicator> parent,
        List<Integer> parentRanks) {}

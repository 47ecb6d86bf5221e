package org.jccl.spi;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jccl.BackendOptions;
import org.jccl.BootstrapException;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.UsageException;

/**
 * What a binding needs to form a communicator.
 *
 * @param groupName name of the group, the same on every rank, unique in the job
 * @param rank this process's rank in the new group
 * @param size number of ranks in the new group
 * @param store where the ranks of this group meet, private to this backend; empty when it needs
 *     none
 * @param timeout deadline of each operation on the communicator
 * @param joinTimeout how long forming the communicator may take, which is what is left of the
 *     timeout; what forms it must not take the timeout anew for each of its steps
 * @param device where its tensors live
 * @param interop what else may be a rank; one that the provider supports
 * @param interopName the group's name among ranks of another API, or empty
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
        Duration joinTimeout,
        Device device,
        Interop interop,
        Optional<String> interopName,
        Optional<BackendOptions> options,
        Optional<Communicator> parent,
        List<Integer> parentRanks) {

    /**
     * A group without a name among ranks of another API.
     *
     * @param groupName name of the group
     * @param rank in the new group
     * @param size number of ranks in the new group
     * @param store where the ranks meet, or empty
     * @param timeout deadline of each operation
     * @param joinTimeout how long forming the communicator may take
     * @param device where its tensors live
     * @param interop what else may be a rank
     * @param options the backend's options, or empty
     * @param parent the communicator this group was made from, or empty
     * @param parentRanks for each new rank its rank in the parent
     */
    public CommunicatorConfig(
            String groupName,
            int rank,
            int size,
            Optional<Store> store,
            Duration timeout,
            Duration joinTimeout,
            Device device,
            Interop interop,
            Optional<BackendOptions> options,
            Optional<Communicator> parent,
            List<Integer> parentRanks) {
        this(
                groupName,
                rank,
                size,
                store,
                timeout,
                joinTimeout,
                device,
                interop,
                Optional.empty(),
                options,
                parent,
                parentRanks);
    }

    /**
     * The options, as the class that the backend has for them.
     *
     * @param <T> the class
     * @param type the class
     * @return empty when none were given
     * @throws UsageException when they are of another class
     */
    public <T extends BackendOptions> Optional<T> options(Class<T> type) {
        return BackendProvider.options(options, type);
    }

    /**
     * The store of a backend that can not do without.
     *
     * @param need what needs it and for what, for instance {@code NCCL needs a store to connect
     *     ranks}
     * @return the store
     * @throws UsageException when there is none
     */
    public Store requireStore(String need) {
        return store.orElseThrow(
                () ->
                        new UsageException(
                                FailureContext.NONE,
                                need + "; build the group with one, or under a launcher"));
    }

    /**
     * Forms a communicator by a library that does not say who is missing when it waits in vain:
     * each rank writes into the store that it has come, and a timeout names those who have not, or
     * who do not give up as the others do. When all have formed it, the keys are deleted. Without a
     * store this only forms it.
     *
     * @param <T> what is formed
     * @param name beginning of the keys, the same on every rank, and no other communicator's
     * @param keys what the forming puts into the store
     * @param forming forms it
     * @return what was formed
     * @throws OperationTimeoutException when the forming throws it; names the ranks that have not
     *     come, or when all have, those that do not give up as the others do: they were lost
     */
    public <T> T join(String name, List<String> keys, Supplier<T> forming) {
        if (store.isEmpty()) {
            return forming.get();
        }
        Arrivals arrivals = new Arrivals(store.get(), size, other -> name + "/here/" + other);
        arrivals.arrive(rank, new byte[0]);
        T formed;
        try {
            formed = arrivals.logMissing(rank, groupName, forming);
        } catch (OperationTimeoutException e) {
            throw new OperationTimeoutException(
                    e.context(),
                    "%s; %s%s"
                            .formatted(
                                    e.reason(),
                                    arrivals.giveUp(rank, e),
                                    interop == Interop.NONE
                                            ? ""
                                            : ", but for those among them that are PyTorch's"),
                    e);
        }
        if (interop == Interop.NONE) {
            arrivals.leave(name + "/formed", keys);
        }
        return formed;
    }

    /**
     * Waits for what rank 0 puts into the store.
     *
     * @param key where
     * @param length number of bytes it has
     * @param what it is, for messages, for instance {@code NCCL id}
     * @param within how long to wait
     * @return the bytes
     * @throws OperationTimeoutException when it is not there in time
     * @throws BootstrapException when it has another length
     * @throws UsageException when there is no store
     */
    public byte[] fetch(String key, int length, String what, Duration within) {
        Store meeting = requireStore("the " + what + " of rank 0 comes through a store");
        try {
            meeting.await(List.of(key), within);
        } catch (StoreTimeoutException e) {
            throw new OperationTimeoutException(
                    FailureContext.NONE,
                    "rank 0 put no " + what + " into the store in " + Durations.text(timeout),
                    e);
        }
        byte[] value = meeting.get(key);
        if (value.length != length) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "the %s in the store has %s bytes instead of %s; is the store used by another job?"
                            .formatted(what, value.length, length));
        }
        return value;
    }
}

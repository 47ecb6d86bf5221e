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
import org.jccl.TlsCredentials;
import org.jccl.UsageException;

/**
 * The description of a group from which a binding forms a communicator.
 *
 * @param groupName the name of the group, the same on every rank, unique in the job
 * @param rank the rank of this process in the new group
 * @param size the number of ranks in the new group
 * @param store the store for this group and backend only; empty if there is none
 * @param timeout the deadline of each operation on the communicator
 * @param joinTimeout the limit for forming the communicator, all steps together: the remainder of
 *     the timeout
 * @param device the device of its tensors
 * @param interop the API that other ranks may use; one that the provider supports
 * @param interopName the name of the group among ranks of another API, or empty
 * @param options the options of the backend, or empty
 * @param parent the communicator from which this group is made, or empty
 * @param parentRanks for each new rank its rank in the parent; empty without a parent
 * @param tls the certificates with which connections must be encrypted; empty unless {@link
 *     BackendProvider#encrypts}
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
        List<Integer> parentRanks,
        Optional<TlsCredentials> tls) {

    /**
     * Returns the options as the class of the backend.
     *
     * @param <T> the class
     * @param type the class
     * @return the options, or empty if there are none
     * @throws UsageException if they are of another class
     */
    public <T extends BackendOptions> Optional<T> options(Class<T> type) {
        return BackendProvider.options(options, type);
    }

    /**
     * Returns the store of a backend that needs one.
     *
     * @param need what needs the store and why, for instance {@code NCCL needs a store to connect
     *     ranks}
     * @return the store
     * @throws UsageException if there is none
     */
    public Store requireStore(String need) {
        return store.orElseThrow(
                () ->
                        new UsageException(
                                FailureContext.NONE,
                                need + "; build the group with one, or under a launcher"));
    }

    /**
     * Forms a communicator with a library that does not report missing ranks. Each rank registers
     * in the store. If forming times out, the message names the ranks that did not register. If all
     * registered, it names those that did not time out as well. When all ranks have formed it, the
     * keys are deleted. Without a store, this method only calls {@code forming}.
     *
     * @param <T> the type of the result
     * @param name the beginning of the keys, the same on every rank, and unique to this
     *     communicator
     * @param keys the keys that {@code forming} puts into the store
     * @param forming forms the communicator
     * @return the result of {@code forming}
     * @throws OperationTimeoutException if {@code forming} throws it; the message names the missing
     *     ranks
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
            throw OperationTimeoutException.ofCall(
                    e.context(),
                    "%s; %s%s"
                            .formatted(
                                    e.reason(),
                                    arrivals.giveUp(rank, e),
                                    interop == Interop.NONE
                                            ? ""
                                            : " (ranks that do not run JCCL always appear as"
                                                    + " missing)"),
                    e);
        }
        if (interop == Interop.NONE) {
            arrivals.leave(name + "/formed", keys);
        }
        return formed;
    }

    /**
     * Waits for a value that rank 0 puts into the store.
     *
     * @param key the key
     * @param length the length of the value in bytes
     * @param what the name of the value, for messages, for instance {@code NCCL id}
     * @param within how long to wait
     * @return the bytes
     * @throws OperationTimeoutException if the value does not appear in time
     * @throws BootstrapException if it has another length
     * @throws UsageException if there is no store
     */
    public byte[] fetch(String key, int length, String what, Duration within) {
        Store shared = requireStore("the " + what + " of rank 0 is shared through a store");
        try {
            shared.await(List.of(key), within);
        } catch (StoreTimeoutException e) {
            throw OperationTimeoutException.ofCall(
                    FailureContext.NONE,
                    "rank 0 did not write the "
                            + what
                            + " to the store within "
                            + Durations.rounded(within),
                    SilentStore.asCause(e));
        }
        byte[] value = shared.get(key);
        if (value.length != length) {
            throw new BootstrapException(
                    FailureContext.NONE,
                    "the %s in the store has %s bytes instead of %s; is the store used by another job?"
                            .formatted(what, value.length, length));
        }
        return value;
    }
}

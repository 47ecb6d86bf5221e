package org.jccl.spi;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import org.jccl.Availability;
import org.jccl.BackendOptions;
import org.jccl.BackendUnavailableException;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.UsageException;

/**
 * A binding, found through {@link java.util.ServiceLoader}. Its constructor must not load native
 * code; {@link #availability()} does.
 */
public interface BackendProvider {

    /**
     * Name of the backend.
     *
     * @return lower case
     */
    String name();

    /**
     * Device types whose tensors it takes, see {@link org.jccl.Device#type()}.
     *
     * @return at least one type
     */
    Set<String> deviceTypes();

    /**
     * Types of devices that another binding drives, whose memory this library takes too. It works
     * on the host, where it knows no streams: before an operation is issued, the engine waits until
     * the caller's current stream is done, and the operation is complete when its work is. {@link
     * #create} throws where the library that was found takes no such memory after all.
     *
     * @return none of {@link #deviceTypes()}
     */
    default Set<String> foreignDeviceTypes() {
        return Set.of();
    }

    /**
     * Whether the engine may bring it tensors of any device that another binding drives, by copying
     * them through host memory. The communicator is then created for the CPU and sees host memory
     * only. Its operations must all compare what ranks call, or get stuck, as a collective is cut
     * into several; and a send in {@link HostCommunicator.Mode#NONBLOCKING} must not wait.
     *
     * @return by default false; true only where communicators are {@link HostCommunicator}s
     */
    default boolean stagesDevices() {
        return false;
    }

    /**
     * Loads the vendor library at the first call and remembers the outcome.
     *
     * @return version and path, or what was tried and why it failed; never throws
     */
    Availability availability();

    /**
     * Loads the vendor library, or says all there is to say about why it can not.
     *
     * @throws BackendUnavailableException with everything that was tried
     */
    default void requireAvailable() {
        if (availability() instanceof Availability.Unavailable missing) {
            throw new BackendUnavailableException(
                    FailureContext.NONE,
                    "backend %s can not be used: %s%s"
                            .formatted(
                                    name(),
                                    missing.reason(),
                                    missing.tried().isEmpty()
                                            ? ""
                                            : "; tried:\n  "
                                                    + String.join("\n  ", missing.tried())));
        }
    }

    /**
     * Whether it can share a group with ranks that do not run this API.
     *
     * @param interop what else may be a rank
     * @return true when {@link #create} takes such a group
     */
    default boolean supports(Interop interop) {
        return interop == Interop.NONE;
    }

    /**
     * Order among backends of the same devices when the user names none.
     *
     * @return higher is tried first
     */
    default int preference() {
        return 0;
    }

    /**
     * This process's place in the world, when the library itself knows it. Called after {@link
     * #availability()} said yes, when the user has not said who and where the ranks are.
     *
     * @param options the backend's options, or empty
     * @return rank and size, or empty when the bootstrap must find out
     * @throws org.jccl.JcclException when the library knows but can not be used so
     */
    default Optional<World> world(Optional<BackendOptions> options) {
        return Optional.empty();
    }

    /**
     * Streams, events and memory of the devices this backend takes.
     *
     * @param deviceType one of {@link #deviceTypes()}, not the CPU
     * @return the runtime; called after {@link #availability()} said yes
     * @throws UsageException when the backend works on host memory only
     */
    default DeviceRuntime deviceRuntime(String deviceType) {
        throw new UsageException(FailureContext.NONE, name() + " has no devices but the CPU");
    }

    /**
     * Connects to the other ranks. Called on every rank of the new group, concurrently.
     *
     * @param config the group
     * @return the communicator of this rank
     * @throws org.jccl.JcclException when a peer does not arrive in time or the library fails
     */
    Communicator create(CommunicatorConfig config);

    /**
     * A backend's options, as the class that it has for them.
     *
     * @param <T> the class
     * @param given what the user gave, or empty
     * @param type the class
     * @return empty when none were given
     * @throws UsageException when they are of another class
     */
    static <T extends BackendOptions> Optional<T> options(
            Optional<BackendOptions> given, Class<T> type) {
        given.filter(options -> !type.isInstance(options))
                .ifPresent(
                        options -> {
                            throw new UsageException(
                                    FailureContext.NONE,
                                    "backend %s takes %s, not %s"
                                            .formatted(
                                                    options.backend(),
                                                    type.getSimpleName(),
                                                    options.getClass().getName()));
                        });
        return given.map(type::cast);
    }

    /**
     * A world that the library knows by itself.
     *
     * @param rank from 0
     * @param size number of ranks
     * @param localRank rank among the processes of this host, or -1 when unknown
     * @param broadcast tells all ranks where their store is; empty when there can be none, since
     *     not all members of the world run this API
     */
    record World(int rank, int size, int localRank, Optional<Broadcast> broadcast) {}

    /** Copies bytes between the ranks of a world that has no group yet. */
    @FunctionalInterface
    interface Broadcast {

        /**
         * Called by every rank.
         *
         * @param bytes what rank 0 sends, the same number on every rank; elsewhere overwritten
         * @param timeout how long to wait for the others
         * @throws org.jccl.JcclException when the others do not come in time
         */
        void broadcast(byte[] bytes, Duration timeout);
    }
}

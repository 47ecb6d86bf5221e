package org.jccl.spi;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.jccl.Availability;
import org.jccl.BackendOptions;
import org.jccl.BackendUnavailableException;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.UsageException;

/**
 * A binding, found through {@link java.util.ServiceLoader}. Its constructor must not load native
 * code; {@link #availability()} does. Each group looks up providers again.
 */
public interface BackendProvider {

    /**
     * Returns the name of the backend.
     *
     * @return lower case
     */
    String name();

    /**
     * Returns the device types whose tensors it takes, see {@link org.jccl.Device#type()}.
     *
     * @return at least one type
     */
    Set<String> deviceTypes();

    /**
     * Returns the types of devices that another binding drives and whose memory this library also
     * accepts. The library then works on the host and does not use streams. Before an operation is
     * issued, the engine waits for the caller's current stream. The operation is complete when its
     * work is. {@link #create} throws if the library that was found does not accept such memory.
     *
     * @return none of {@link #deviceTypes()}
     */
    default Set<String> deviceTypesOfOtherBindings() {
        return Set.of();
    }

    /**
     * Returns whether the engine may stage tensors of other bindings' devices through host memory
     * for this library. The communicator is then created for the CPU and gets only host memory. The
     * engine splits a collective into several, so each operation must either compare the calls of
     * the ranks or block if they differ.
     *
     * @return false by default; true only if communicators are {@link HostCommunicator}s
     */
    default boolean stagesDevices() {
        return false;
    }

    /**
     * Loads the vendor library at the first call and remembers the result. Never throws.
     *
     * @return version and path, or what was tried and why it failed
     */
    Availability availability();

    /**
     * Loads the vendor library.
     *
     * @throws BackendUnavailableException if that fails; the message lists everything that was
     *     tried
     */
    default void requireAvailable() {
        if (availability() instanceof Availability.Unavailable missing) {
            throw new BackendUnavailableException(
                    FailureContext.NONE,
                    "backend %s cannot be used: %s%s"
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
     * Returns whether a group of this backend may contain ranks of another API.
     *
     * @param interop the other API
     * @return true if {@link #create} takes such a group
     */
    default boolean supports(Interop interop) {
        return interop == Interop.NONE;
    }

    /**
     * Returns whether the library encrypts all connections between ranks if {@link
     * CommunicatorConfig#tls} has certificates. The engine rejects certificates for other backends.
     *
     * @return false by default
     */
    default boolean encrypts() {
        return false;
    }

    /**
     * Returns the other API that a name of this backend selects. Ranks of that API may have several
     * names for the backend, one for each way in which they use the library.
     *
     * @param name the name from the user, in lower case
     * @param interop the other API from the user
     * @return the selected API, or empty if the name is not one of this backend
     * @throws UsageException if ranks that use this name for the backend are not supported
     */
    default Optional<Interop> named(String name, Interop interop) {
        return name.equals(name()) ? Optional.of(interop) : Optional.empty();
    }

    /**
     * Returns the priority among backends of the same devices, for users who name none.
     *
     * @return the priority; a higher one is tried first
     */
    default int preference() {
        return 0;
    }

    /**
     * Returns the world that the library itself defines. The engine calls it after {@link
     * #availability()} returned {@code Available}, and only if the user described no world.
     *
     * @param options the options of the backend, or empty
     * @return rank and size, or empty if the bootstrap must find them
     * @throws org.jccl.JcclException if the library defines a world but cannot be used in it
     */
    default Optional<World> world(Optional<BackendOptions> options) {
        return Optional.empty();
    }

    /**
     * Returns the device of a rank that the backend's own configuration names. The engine calls it
     * after {@link #availability()} returned {@code Available}, and only if the user named no
     * device.
     *
     * @param rank rank in the world
     * @param options the options of the backend, or empty
     * @return the index of the device, or empty for the local rank
     */
    default OptionalInt device(int rank, Optional<BackendOptions> options) {
        return OptionalInt.empty();
    }

    /**
     * Returns streams, events and memory of the devices of this backend. The engine calls it after
     * {@link #availability()} returned {@code Available}.
     *
     * @param deviceType one of {@link #deviceTypes()}, not the CPU
     * @return the runtime
     * @throws UsageException if the backend works on host memory only
     */
    default DeviceRuntime deviceRuntime(String deviceType) {
        throw new UsageException(FailureContext.NONE, name() + " has no devices except the CPU");
    }

    /**
     * Connects to the other ranks. The engine calls it on every rank of the new group at the same
     * time.
     *
     * @param config the group
     * @return the communicator of this rank
     * @throws org.jccl.JcclException if a peer does not arrive in time or the library fails
     */
    Communicator create(CommunicatorConfig config);

    /**
     * Casts the options of a backend to its class of options.
     *
     * @param <T> the class
     * @param given the options of the user, or empty
     * @param type the class
     * @return the options, or empty if there are none
     * @throws UsageException if they are of another class, or an argument is null
     */
    static <T extends BackendOptions> Optional<T> options(
            Optional<BackendOptions> given, Class<T> type) {
        if (given == null || type == null) {
            throw new UsageException(
                    FailureContext.NONE, (given == null ? "options" : "type") + " is null");
        }
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
     * A world that the library defines.
     *
     * @param rank from 0
     * @param size number of ranks
     * @param localRank rank among the processes of this host, or -1 if unknown
     * @param broadcast sends the address of the store to all ranks; empty if there can be no store,
     *     because not all members of the world use this API
     */
    record World(int rank, int size, int localRank, Optional<Broadcast> broadcast) {}

    /** Copies bytes between the ranks of a world that has no group yet. */
    @FunctionalInterface
    interface Broadcast {

        /**
         * Sends bytes from rank 0 to all. Every rank calls it.
         *
         * @param bytes input on rank 0, output elsewhere; the same length on every rank
         * @param timeout how long to wait for the other ranks
         * @throws org.jccl.JcclException if the other ranks do not arrive in time
         */
        void broadcast(byte[] bytes, Duration timeout);
    }
}

package org.jccl.gloo;

import java.time.Duration;
import java.util.Optional;
import org.jccl.BackendOptions;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Options of the Gloo backend; start from {@link #defaults()}. By default the address is the one of
 * {@code GLOO_SOCKET_IFNAME}, as in PyTorch. If that is not set, it is the address of the route to
 * {@code MASTER_ADDR} or the store, otherwise the address of the host's name. A thread that waits
 * for a message sleeps.
 *
 * @param networkInterface the network interface whose address is used, for example {@code eth0}
 * @param host the name or numeric address of this host to use
 * @param busyPolling the time that a collective polls for messages before its thread sleeps
 */
public record GlooOptions(
        Optional<String> networkInterface, Optional<String> host, Duration busyPolling)
        implements BackendOptions {

    private static final Duration LONGEST_POLLING = Duration.ofSeconds(1);

    /**
     * Creates options.
     *
     * @param networkInterface the network interface whose address is used
     * @param host the name or numeric address of this host to use
     * @param busyPolling see {@link #withBusyPolling}
     * @throws UsageException if both a network interface and a host are present, one of them is
     *     null or blank, or the duration is null, negative or longer than one second
     */
    public GlooOptions {
        if (isBad(networkInterface) || isBad(host)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "Gloo options: network interface and host must be an empty Optional or a name,"
                            + " got "
                            + networkInterface
                            + " and "
                            + host);
        }
        if (networkInterface.isPresent() && host.isPresent()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "Gloo options take a network interface or a host, not both: "
                            + networkInterface.get()
                            + " and "
                            + host.get());
        }
        if (busyPolling == null
                || busyPolling.isNegative()
                || busyPolling.compareTo(LONGEST_POLLING) > 0) {
            throw new UsageException(
                    FailureContext.NONE,
                    "Gloo options: busy polling must be from 0 to "
                            + LONGEST_POLLING
                            + ", got "
                            + busyPolling);
        }
    }

    /**
     * Returns the default options: the address is chosen automatically, and there is no busy
     * polling.
     *
     * @return the options
     */
    public static GlooOptions defaults() {
        return new GlooOptions(Optional.empty(), Optional.empty(), Duration.ZERO);
    }

    private static boolean isBad(Optional<String> name) {
        return name == null || name.filter(String::isBlank).isPresent();
    }

    /** Accepts null, which the constructor rejects with a message. */
    private static Optional<String> named(String name) {
        return Optional.of(name == null ? "" : name);
    }

    /**
     * Uses the address of a network interface.
     *
     * @param name the name, for example {@code eth0}
     * @return the options
     * @throws UsageException if the name is null or blank
     */
    public static GlooOptions onInterface(String name) {
        return new GlooOptions(named(name), Optional.empty(), Duration.ZERO);
    }

    /**
     * Uses an address of this host.
     *
     * @param host the name or numeric address
     * @return the options
     * @throws UsageException if the host is null or blank
     */
    public static GlooOptions onHost(String host) {
        return new GlooOptions(Optional.empty(), named(host), Duration.ZERO);
    }

    /**
     * Makes the thread of a collective poll for messages before it sleeps, which saves some
     * microseconds of wake-up time. The thread uses a processor meanwhile, and yields it to other
     * threads after each poll. If ranks share processors, the time should be short. Sends,
     * receives, and groups with PyTorch's ranks never poll.
     *
     * @param duration the time per wait, for example 50 microseconds; zero by default
     * @return options with this duration
     * @throws UsageException if the duration is null, negative or longer than one second
     */
    public GlooOptions withBusyPolling(Duration duration) {
        return new GlooOptions(networkInterface, host, duration);
    }

    @Override
    public String backend() {
        return GlooProvider.NAME;
    }
}

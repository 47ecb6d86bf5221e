package org.jccl.gloo;

import java.time.Duration;
import java.util.Optional;
import org.jccl.BackendOptions;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Options of the Gloo backend; start from {@link #defaults()}. Without them the address is chosen
 * by {@code GLOO_SOCKET_IFNAME}, as in PyTorch, else by the route to {@code MASTER_ADDR} or the
 * store, else by the name of this host, and who waits for a message sleeps.
 *
 * @param networkInterface whose address to use, for instance {@code eth0}
 * @param host name or numeric address of this host to use
 * @param busyPolling for how long a collective looks for messages again and again before its thread
 *     sleeps
 */
public record GlooOptions(
        Optional<String> networkInterface, Optional<String> host, Duration busyPolling)
        implements BackendOptions {

    private static final Duration LONGEST_POLLING = Duration.ofSeconds(1);

    /**
     * Checks the arguments.
     *
     * @param networkInterface whose address to use
     * @param host name or numeric address of this host to use
     * @param busyPolling see {@link #withBusyPolling}
     * @throws UsageException when both a network interface and a host are given, one of them is
     *     null or blank, or the duration is null, negative or above a second
     */
    public GlooOptions {
        if (isBad(networkInterface) || isBad(host)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "Gloo options: a network interface and a host are empty Optionals or have a"
                            + " name, got "
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
                    "Gloo options: busy polling lasts from nothing to "
                            + LONGEST_POLLING
                            + ", got "
                            + busyPolling);
        }
    }

    /**
     * An address that is chosen as the class says, and no busy polling.
     *
     * @return the options
     */
    public static GlooOptions defaults() {
        return new GlooOptions(Optional.empty(), Optional.empty(), Duration.ZERO);
    }

    private static boolean isBad(Optional<String> name) {
        return name == null || name.filter(String::isBlank).isPresent();
    }

    /** What {@link Optional#of} would refuse in its own way. */
    private static Optional<String> named(String name) {
        return Optional.of(name == null ? "" : name);
    }

    /**
     * Uses the address of a network interface.
     *
     * @param name for instance {@code eth0}
     * @return the options
     * @throws UsageException when it is null or blank
     */
    public static GlooOptions onInterface(String name) {
        return new GlooOptions(named(name), Optional.empty(), Duration.ZERO);
    }

    /**
     * Uses an address of this host.
     *
     * @param host name or numeric address
     * @return the options
     * @throws UsageException when it is null or blank
     */
    public static GlooOptions onHost(String host) {
        return new GlooOptions(Optional.empty(), named(host), Duration.ZERO);
    }

    /**
     * Has the thread of a collective look for messages again and again before it sleeps, which
     * saves some microseconds of waking it. Only for ranks that have a processor each: where they
     * share one, a rank that looks keeps the rank that it waits for from running. Sends and
     * receives, and groups with PyTorch's ranks, sleep as ever.
     *
     * @param duration for each wait, for instance 50 microseconds; zero is the default
     * @return other options
     * @throws UsageException when it is null, negative or above a second
     */
    public GlooOptions withBusyPolling(Duration duration) {
        return new GlooOptions(networkInterface, host, duration);
    }

    @Override
    public String backend() {
        return GlooProvider.NAME;
    }
}

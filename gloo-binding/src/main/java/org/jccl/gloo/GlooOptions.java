package org.jccl.gloo;

import java.util.Optional;
import org.jccl.BackendOptions;
import org.jccl.FailureContext;
import org.jccl.UsageException;

/**
 * Options of the Gloo backend. Without them the address is chosen by {@code GLOO_SOCKET_IFNAME}, as
 * in PyTorch, else by the route to {@code MASTER_ADDR} or the store, else by the name of this host.
 *
 * @param networkInterface whose address to use, for instance {@code eth0}
 * @param host name or numeric address of this host to use
 */
public record GlooOptions(Optional<String> networkInterface, Optional<String> host)
        implements BackendOptions {

    /**
     * Checks the arguments.
     *
     * @param networkInterface whose address to use
     * @param host name or numeric address of this host to use
     * @throws UsageException when both are given, or one is null or blank
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
        return new GlooOptions(named(name), Optional.empty());
    }

    /**
     * Uses an address of this host.
     *
     * @param host name or numeric address
     * @return the options
     * @throws UsageException when it is null or blank
     */
    public static GlooOptions onHost(String host) {
        return new GlooOptions(Optional.empty(), named(host));
    }

    @Override
    public String backend() {
        return GlooProvider.NAME;
    }
}

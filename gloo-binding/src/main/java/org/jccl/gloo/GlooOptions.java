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
     * @throws UsageException when both are given
     */
    public GlooOptions {
        if (networkInterface.isPresent() && host.isPresent()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "Gloo options take a network interface or a host, not both: "
                            + networkInterface.get()
                            + " and "
                            + host.get());
        }
    }

    /**
     * Uses the address of a network interface.
     *
     * @param name for instance {@code eth0}
     * @return the options
     */
    public static GlooOptions onInterface(String name) {
        return new GlooOptions(Optional.of(name), Optional.empty());
    }

    /**
     * Uses an address of this host.
     *
     * @param host name or numeric address
     * @return the options
     */
    public static GlooOptions onHost(String host) {
        return new GlooOptions(Optional.empty(), Optional.of(host));
    }

    @Override
    public String backend() {
        return GlooProvider.NAME;
    }
}

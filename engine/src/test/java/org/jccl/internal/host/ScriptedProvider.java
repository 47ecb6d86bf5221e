package org.jccl.internal.host;

import java.util.Set;
import java.util.function.Function;
import org.jccl.Availability;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Communicator;
import org.jccl.spi.CommunicatorConfig;

/**
 * A backend for host memory, named {@code scripted}, that does what a test says.
 *
 * @param connect makes a rank's end of a group
 */
public record ScriptedProvider(Function<CommunicatorConfig, Communicator> connect)
        implements BackendProvider {

    @Override
    public String name() {
        return "scripted";
    }

    @Override
    public Set<String> deviceTypes() {
        return Set.of("cpu");
    }

    @Override
    public Availability availability() {
        return new Availability.Available("1", "this process");
    }

    @Override
    public Communicator create(CommunicatorConfig config) {
        return connect.apply(config);
    }
}

package org.jccl.gloo;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.Availability;
import org.jccl.Interop;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;

/**
 * The provider of Gloo over TCP, for tensors in host memory. The jar contains a native library for
 * each platform; the first call of {@link #availability()} loads it.
 */
public final class GlooProvider implements BackendProvider {

    static final String NAME = "gloo";

    private static final System.Logger LOGGER = System.getLogger(GlooProvider.class.getName());

    private Availability availability;

    /** The address choices that were already logged. */
    private final Set<LocalAddress> logged = ConcurrentHashMap.newKeySet();

    /** Creates the provider. Loads nothing. */
    public GlooProvider() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Set<String> deviceTypes() {
        return Set.of("cpu");
    }

    @Override
    public boolean stagesDevices() {
        return true;
    }

    @Override
    public boolean supports(Interop interop) {
        return true;
    }

    @Override
    public boolean encrypts() {
        return true;
    }

    @Override
    public synchronized Availability availability() {
        if (availability == null) {
            availability = GlooLibraries.load();
        }
        return availability;
    }

    @Override
    public HostCommunicator create(CommunicatorConfig config) {
        requireAvailable();
        return GlooConnector.connect(config, chosen -> log(chosen, config.rank()));
    }

    private void log(LocalAddress chosen, int rank) {
        if (logged.add(chosen)) {
            // On loopback all ranks are on this host, so the choice cannot be wrong. With several
            // hosts, one line says how addresses are chosen.
            boolean news = rank == 0 && !chosen.address().isLoopbackAddress();
            LOGGER.log(
                    news ? System.Logger.Level.INFO : System.Logger.Level.DEBUG,
                    "gloo listens on {0}: {1}",
                    chosen.address().getHostAddress(),
                    chosen.reason());
        }
    }
}

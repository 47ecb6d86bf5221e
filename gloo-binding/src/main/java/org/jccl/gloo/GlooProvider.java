package org.jccl.gloo;

import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.Interop;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.CommunicatorConfig;
import org.jccl.spi.HostCommunicator;
import org.jccl.spi.NativeLibraries;

/**
 * Gloo over TCP, for tensors in host memory. The jar carries libgloo and what it needs; they are
 * loaded when {@link #availability()} is asked for the first time.
 */
public final class GlooProvider implements BackendProvider {

    static final String NAME = "gloo";

    private static final System.Logger LOG = System.getLogger(GlooProvider.class.getName());

    private static final String FOLDER = "linux-x86_64/";

    /** In the order in which they need one another. */
    private static final List<String> LIBRARIES =
            List.of(
                    "libnl-3.so.200",
                    "libnl-route-3.so.200",
                    "libibverbs.so.1",
                    "libhiredis.so.0.14",
                    "libgloo.so.0",
                    "lib" + GlooNative.LIBRARY + ".so");

    private Availability availability;

    /** Choices of address that were logged. */
    private final Set<LocalAddress> logged = ConcurrentHashMap.newKeySet();

    /** Creates the provider; nothing is loaded yet. */
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
    public boolean supports(Interop interop) {
        return true;
    }

    @Override
    public synchronized Availability availability() {
        if (availability == null) {
            availability = load();
        }
        return availability;
    }

    private static Availability load() {
        String platform = System.getProperty("os.name") + "-" + System.getProperty("os.arch");
        if (!platform.equals("Linux-amd64")) {
            return new Availability.Unavailable(
                    "Gloo is built for Linux on x86_64, this is " + platform, List.of());
        }
        try {
            var directory =
                    NativeLibraries.load(
                            name -> GlooProvider.class.getResourceAsStream(FOLDER + name),
                            LIBRARIES,
                            System::load);
            return new Availability.Available(
                    GlooNative.version(), directory.resolve("libgloo.so.0").toString());
        } catch (BackendUnavailableException e) {
            return new Availability.Unavailable(
                    e.getMessage(),
                    Arrays.stream(e.getSuppressed()).map(Throwable::getMessage).toList());
        }
    }

    @Override
    public HostCommunicator create(CommunicatorConfig config) {
        requireAvailable();
        return GlooCommunicator.connect(config, chosen -> log(chosen, config.rank()));
    }

    private void log(LocalAddress chosen, int rank) {
        if (logged.add(chosen)) {
            // On loopback all ranks are on this host, so one line is enough.
            boolean news = rank == 0 || !chosen.address().isLoopbackAddress();
            LOG.log(
                    news ? System.Logger.Level.INFO : System.Logger.Level.DEBUG,
                    "gloo listens on {0}: {1}",
                    chosen.address().getHostAddress(),
                    chosen.reason());
        }
    }
}

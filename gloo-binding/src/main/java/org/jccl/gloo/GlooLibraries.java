package org.jccl.gloo;

import java.util.List;
import java.util.Set;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.spi.support.NativeLibraries;

/** Loads the shim, which contains gloo, from the jar. */
final class GlooLibraries {

    private static final String ARTIFACT = "org.jccl:jccl-gloo";

    private static final Set<String> PLATFORMS = Set.of("linux-x86_64", "linux-arm64");

    private static final String NAME = "lib" + GlooNative.LIBRARY + ".so";

    /** Static, because each group has its own provider. Null until the library is loaded. */
    private static Availability loaded;

    private GlooLibraries() {}

    /** Loads the library, once per process unless it fails. Never throws. */
    static synchronized Availability load() {
        if (loaded != null) {
            return loaded;
        }
        String platform = NativeLibraries.platform();
        if (!PLATFORMS.contains(platform)) {
            return new Availability.Unavailable(
                    "Gloo is built for Linux on x86_64 and aarch64, this is " + platform,
                    List.of());
        }
        try {
            var directory =
                    NativeLibraries.load(
                            ARTIFACT,
                            name -> GlooLibraries.class.getResourceAsStream(platform + "/" + name),
                            List.of(NAME),
                            System::load);
            loaded =
                    new Availability.Available(
                            GlooNative.version(), directory.resolve(NAME).toString());
            return loaded;
        } catch (BackendUnavailableException e) {
            return new Availability.Unavailable(e.getMessage(), List.of());
        }
    }
}

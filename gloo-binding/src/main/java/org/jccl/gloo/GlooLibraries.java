package org.jccl.gloo;

import java.util.Arrays;
import java.util.List;
import org.jccl.Availability;
import org.jccl.BackendUnavailableException;
import org.jccl.spi.NativeLibraries;

/** Loads libgloo, what it needs, and the shim, all of which the jar carries. */
final class GlooLibraries {

    private static final String FOLDER = "linux-x86_64/";

    /** In the order in which they need one another. */
    private static final List<String> NAMES =
            List.of(
                    "libnl-3.so.200",
                    "libnl-route-3.so.200",
                    "libibverbs.so.1",
                    "libhiredis.so.0.14",
                    "libgloo.so.0",
                    "lib" + GlooNative.LIBRARY + ".so");

    private GlooLibraries() {}

    /** Loads everything; never throws. */
    static Availability load() {
        String platform = System.getProperty("os.name") + "-" + System.getProperty("os.arch");
        if (!platform.equals("Linux-amd64")) {
            return new Availability.Unavailable(
                    "Gloo is built for Linux on x86_64, this is " + platform, List.of());
        }
        try {
            var directory =
                    NativeLibraries.load(
                            name -> GlooLibraries.class.getResourceAsStream(FOLDER + name),
                            NAMES,
                            System::load);
            return new Availability.Available(
                    GlooNative.version(), directory.resolve("libgloo.so.0").toString());
        } catch (BackendUnavailableException e) {
            return new Availability.Unavailable(
                    e.getMessage(),
                    Arrays.stream(e.getSuppressed()).map(Throwable::getMessage).toList());
        }
    }
}

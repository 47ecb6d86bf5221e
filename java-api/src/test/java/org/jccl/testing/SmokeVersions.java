package org.jccl.testing;

import java.util.ServiceLoader;
import org.jccl.Availability;
import org.jccl.spi.BackendProvider;

/** Prints what a binding found, for the report of the hardware smoke test. */
final class SmokeVersions {

    private SmokeVersions() {}

    /**
     * Prints; fails when the backend cannot be used.
     *
     * @param arguments name of the backend
     */
    public static void main(String[] arguments) {
        for (BackendProvider provider : ServiceLoader.load(BackendProvider.class)) {
            if (provider.name().equals(arguments[0])) {
                Availability found = provider.availability();
                System.out.println(found);
                System.exit(found.isAvailable() ? 0 : 1);
            }
        }
        throw new IllegalStateException("there is no binding of " + arguments[0]);
    }
}

package org.jccl.internal.backend;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jccl.BackendOptions;
import org.jccl.BackendUnavailableException;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.UsageException;
import org.jccl.spi.BackendProvider;

/** Finds the bindings that are present. */
public final class Backends {

    private Backends() {}

    /**
     * The backends of a group.
     *
     * @param all one for each device type, at least one
     * @param interop the other API, as the names of the backends say
     */
    public record Chosen(List<Backend> all, Interop interop) {}

    /** Returns all bindings on the class path or module path, in no order. */
    public static List<BackendProvider> present() {
        return ServiceLoader.load(BackendProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .toList();
    }

    /**
     * Chooses the backends of a group. There is no fallback for one that a user names.
     *
     * @param names a name, pairs of device type and name, or empty to choose
     * @param device the requested device
     * @param interop which other API ranks of the group may run
     * @param options options by backend name
     * @throws UsageException if the names are malformed, no backend takes the device, or a backend
     *     cannot share a group with such ranks
     * @throws BackendUnavailableException if a backend is missing or cannot be loaded
     */
    public static Chosen choose(
            Optional<String> names,
            Optional<Device> device,
            Interop interop,
            Map<String, BackendOptions> options) {
        return new BackendChoice(present(), device, interop, options).choose(names);
    }
}

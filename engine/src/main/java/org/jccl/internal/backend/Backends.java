package org.jccl.internal.backend;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jccl.BackendOptions;
import org.jccl.BackendUnavailableException;
import org.jccl.Device;
import org.jccl.Interop;
import org.jccl.UsageException;
import org.jccl.bootstrap.Rendezvous;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Services;

/** Finds the bindings that are present. */
public final class Backends {

    private static final String OUR_PACKAGES = "org.jccl.";

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
        return Services.of(
                ServiceLoader.load(BackendProvider.class, Backends.class.getClassLoader()),
                ServiceLoader.load(BackendProvider.class));
    }

    /**
     * Returns the names that add a device type to the backends of a group, for messages.
     *
     * @param present the bindings on the class path
     * @param all the backends of the group
     * @param type the device type to add
     * @return one {@code type:name} each, separated by commas
     */
    public static String naming(List<BackendProvider> present, List<Backend> all, String type) {
        String added =
                present.stream()
                        .filter(each -> each.deviceTypes().contains(type))
                        .map(BackendProvider::name)
                        .sorted()
                        .findFirst()
                        .orElse("<backend>");
        return Stream.concat(
                        all.stream()
                                .map(each -> each.device().type() + ":" + each.provider().name()),
                        Stream.of(type + ":" + added))
                .collect(Collectors.joining(","));
    }

    /**
     * Chooses the backends of a group. There is no fallback for one that a user names.
     *
     * @param names a name, pairs of device type and name, or empty to choose
     * @param device the requested device
     * @param interop which other API ranks of the group may run
     * @param options options by backend name
     * @throws UsageException if the names are malformed, no backend takes the device, a backend
     *     cannot share a group with such ranks, or our artifacts are of different releases
     * @throws BackendUnavailableException if a backend is missing or cannot be loaded
     */
    public static Chosen choose(
            Optional<String> names,
            Optional<Device> device,
            Interop interop,
            Map<String, BackendOptions> options) {
        List<BackendProvider> present = present();
        Release.requireOne(releases(present));
        return new BackendChoice(present, device, interop, options).choose(names);
    }

    /** Bindings of others have versions of their own. */
    private static List<Release> releases(List<BackendProvider> present) {
        List<Release> all = new ArrayList<>();
        all.add(Release.of("jccl-api", Device.class));
        all.add(Release.of("jccl-store", Rendezvous.class));
        all.add(Release.of("jccl-engine", Backends.class));
        for (BackendProvider each : present) {
            if (each.getClass().getPackageName().startsWith(OUR_PACKAGES)) {
                all.add(Release.of("the binding " + each.name(), each.getClass()));
            }
        }
        return all;
    }
}

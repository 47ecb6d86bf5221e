package org.jccl.internal.backend;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeSet;
import org.jccl.Availability;
import org.jccl.BackendOptions;
import org.jccl.BackendUnavailableException;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.BackendProvider;

/**
 * Finds the bindings that are present and chooses those that a user requested. There is no
 * fallback.
 */
public final class Backends {

    private Backends() {}

    /** Returns all bindings on the class path or module path, in no order. */
    public static List<BackendProvider> present() {
        return ServiceLoader.load(BackendProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .toList();
    }

    /**
     * Chooses the backends of a group, one for each device type.
     *
     * @param names a name, pairs of device type and name, or empty to choose
     * @param device the requested device
     * @param options options by backend name
     * @throws UsageException if the names are malformed, or no backend takes the device
     * @throws BackendUnavailableException if a backend is missing or cannot be loaded
     */
    public static List<Backend> choose(
            Optional<String> names, Optional<Device> device, Map<String, BackendOptions> options) {
        List<BackendProvider> present = present();
        List<Backend> chosen = new ArrayList<>();
        if (names.isEmpty()) {
            BackendProvider best = best(present, device);
            addFor(present, chosen, best, device, Optional.empty(), options);
        } else if (!names.get().contains(":")) {
            if (names.get().isBlank() || names.get().contains(",")) {
                throw malformed(names.get());
            }
            addFor(present, chosen, named(present, names.get()), device, Optional.empty(), options);
        } else {
            for (String pair : names.get().split(",")) {
                String[] parts = pair.trim().split(":");
                if (parts.length != 2 || parts[0].isEmpty() || parts[1].isEmpty()) {
                    throw malformed(names.get());
                }
                String type = parts[0];
                if (chosen.stream().anyMatch(other -> other.device().type().equals(type))) {
                    throw new UsageException(
                            FailureContext.NONE,
                            "device type " + type + " is given twice in '" + names.get() + "'");
                }
                BackendProvider provider = named(present, parts[1]);
                addFor(present, chosen, provider, device, Optional.of(type), options);
            }
        }
        device.ifPresent(given -> requireTaken(given, chosen));
        return chosen;
    }

    /** If no backend used the device, the user would silently get another one. */
    private static void requireTaken(Device device, List<Backend> chosen) {
        if (chosen.stream().noneMatch(backend -> backend.device().equals(device))) {
            throw new UsageException(
                    FailureContext.NONE,
                    "no backend of the group takes the device %s: %s; name one for it, as in 'cpu:a,%s:b', or leave the device out"
                            .formatted(
                                    device,
                                    chosen.stream().map(Backends::describe).toList(),
                                    device.type()));
        }
    }

    private static String describe(Backend backend) {
        return backend.provider().name() + " on " + backend.device().type();
    }

    private static UsageException malformed(String names) {
        return new UsageException(
                FailureContext.NONE,
                "backend must be a name or pairs like 'cpu:name,device:name', got '" + names + "'");
    }

    private static void addFor(
            List<BackendProvider> present,
            List<Backend> chosen,
            BackendProvider provider,
            Optional<Device> device,
            Optional<String> wantedType,
            Map<String, BackendOptions> options) {
        String type =
                wantedType.orElseGet(
                        () ->
                                device.map(Device::type)
                                        .filter(takes(present, provider)::contains)
                                        .orElse(provider.deviceTypes().iterator().next()));
        if (!takes(present, provider).contains(type)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "backend %s takes tensors on %s, not on %s%s"
                            .formatted(
                                    provider.name(),
                                    takes(present, provider),
                                    type,
                                    provider.stagesDevices()
                                            ? "; other devices need the binding that drives them on the"
                                                    + " class path"
                                            : ""));
        }
        provider.requireAvailable();
        Device chosenDevice =
                device.filter(given -> given.type().equals(type)).orElse(new Device(type, 0));
        chosen.add(
                new Backend(
                        provider, chosenDevice, Optional.ofNullable(options.get(provider.name()))));
    }

    /** Returns the types of devices whose tensors a backend takes, in alphabetical order. */
    private static Set<String> takes(List<BackendProvider> present, BackendProvider provider) {
        Set<String> types = new TreeSet<>(provider.deviceTypes());
        types.addAll(provider.foreignDeviceTypes());
        if (provider.stagesDevices()) {
            present.forEach(other -> types.addAll(other.deviceTypes()));
        }
        return types;
    }

    private static BackendProvider named(List<BackendProvider> present, String name) {
        for (BackendProvider provider : present) {
            if (provider.name().equals(name)) {
                return provider;
            }
        }
        throw new BackendUnavailableException(
                FailureContext.NONE,
                BackendNames.notFound(
                        name, present.stream().map(BackendProvider::name).sorted().toList()));
    }

    private static BackendProvider best(List<BackendProvider> present, Optional<Device> device) {
        List<String> refused = new ArrayList<>();
        List<BackendProvider> byPreference = new ArrayList<>(present);
        // Accelerators first.
        byPreference.sort(
                (a, b) -> {
                    boolean aOnCpu = a.deviceTypes().contains("cpu");
                    boolean bOnCpu = b.deviceTypes().contains("cpu");
                    return aOnCpu == bOnCpu
                            ? Integer.compare(b.preference(), a.preference())
                            : Boolean.compare(aOnCpu, bOnCpu);
                });
        for (BackendProvider provider : byPreference) {
            boolean fits = device.isEmpty() || provider.deviceTypes().contains(device.get().type());
            if (fits && provider.availability() instanceof Availability.Unavailable missing) {
                refused.add(provider.name() + ": " + missing.reason());
            } else if (fits) {
                return provider;
            }
        }
        throw new BackendUnavailableException(
                FailureContext.NONE,
                "no backend can be used here%s%s"
                        .formatted(
                                device.map(value -> " for " + value).orElse(""),
                                refused.isEmpty()
                                        ? "; add the dependency of a binding, see the README"
                                        : "; tried:\n  " + String.join("\n  ", refused)));
    }
}

package org.jccl.internal.backend;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jccl.Availability;
import org.jccl.BackendOptions;
import org.jccl.BackendUnavailableException;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.Interop;
import org.jccl.UsageException;
import org.jccl.spi.BackendProvider;

/** Chooses the backends of one group. Used once. */
final class BackendChoice {

    private static final System.Logger LOGGER = System.getLogger("org.jccl");

    private final List<BackendProvider> present;
    private final Optional<Device> device;
    private final Map<String, BackendOptions> options;
    private final List<Backend> chosen = new ArrayList<>();
    private Interop interop;

    BackendChoice(
            List<BackendProvider> present,
            Optional<Device> device,
            Interop interop,
            Map<String, BackendOptions> options) {
        this.present = present;
        this.device = device;
        this.interop = interop;
        this.options = options;
    }

    Backends.Chosen choose(Optional<String> names) {
        if (names.isEmpty()) {
            addBest();
        } else if (!names.get().contains(":")) {
            if (names.get().isBlank() || names.get().contains(",")) {
                throw malformed(names.get());
            }
            addSingle(named(names.get()));
        } else {
            for (String pair : names.get().split(",")) {
                addPair(pair, names.get());
            }
        }
        device.ifPresent(this::requireTaken);
        return new Backends.Chosen(chosen, interop);
    }

    private void addPair(String pair, String names) {
        String[] parts = pair.trim().split(":");
        if (parts.length != 2 || parts[0].isEmpty() || parts[1].isEmpty()) {
            throw malformed(names);
        }
        if (isChosen(parts[0])) {
            throw new UsageException(
                    FailureContext.NONE,
                    "device type " + parts[0] + " is given twice in '" + names + "'");
        }
        add(named(parts[1]), parts[0]);
    }

    private void addSingle(BackendProvider provider) {
        String type =
                device.map(Device::type)
                        .filter(takes(provider)::contains)
                        .orElse(provider.deviceTypes().iterator().next());
        add(provider, type);
    }

    private boolean isChosen(String type) {
        return chosen.stream().anyMatch(other -> other.device().type().equals(type));
    }

    /** If no backend used the device, the user would silently get another one. */
    private void requireTaken(Device wanted) {
        if (chosen.stream().noneMatch(backend -> backend.device().equals(wanted))) {
            throw new UsageException(
                    FailureContext.NONE,
                    "no backend of the group takes the device %s: %s; name one for it, as in '%s', or leave the device out"
                            .formatted(
                                    wanted,
                                    chosen.stream().map(BackendChoice::describe).toList(),
                                    Backends.naming(present, chosen, wanted.type())));
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

    private void add(BackendProvider provider, String type) {
        if (!takes(provider).contains(type)) {
            throw new UsageException(
                    FailureContext.NONE,
                    "backend %s takes tensors on %s, not on %s%s"
                            .formatted(
                                    provider.name(),
                                    takes(provider),
                                    type,
                                    provider.stagesDevices()
                                            ? "; other devices need the binding that drives them on the"
                                                    + " class path"
                                            : ""));
        }
        provider.requireAvailable();
        Device own = device.filter(given -> given.type().equals(type)).orElse(new Device(type, 0));
        chosen.add(new Backend(provider, own, Optional.ofNullable(options.get(provider.name()))));
    }

    /** Returns the types of devices whose tensors a backend takes, in alphabetical order. */
    private Set<String> takes(BackendProvider provider) {
        Set<String> types = new TreeSet<>(provider.deviceTypes());
        types.addAll(provider.deviceTypesOfOtherBindings());
        if (provider.stagesDevices()) {
            present.forEach(other -> types.addAll(other.deviceTypes()));
        }
        return types;
    }

    private BackendProvider named(String name) {
        for (BackendProvider provider : present) {
            Optional<Interop> meant = provider.named(name, interop);
            if (meant.isPresent()) {
                interop = meant.get();
                return provider;
            }
        }
        throw new BackendUnavailableException(FailureContext.NONE, notFound(name, present));
    }

    private static String notFound(String name, List<BackendProvider> present) {
        List<String> published = published();
        return "no binding for backend '%s' is on the class path; found %s; %s"
                .formatted(
                        name,
                        present.stream().map(BackendProvider::name).sorted().toList(),
                        published.contains(name)
                                ? "add the dependency org.jccl:jccl-%s. In a fat jar, merge the files of the same name in META-INF/services"
                                        .formatted(name)
                                : "JCCL has %s, and a backend of another project needs its jar on the class path"
                                        .formatted(published));
    }

    /** Returns the backends of this project, each of which is the artifact {@code jccl-NAME}. */
    static List<String> published() {
        try (InputStream in = BackendChoice.class.getResourceAsStream("published")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        } catch (IOException e) {
            throw new UncheckedIOException("the jar's list of backends cannot be read", e);
        }
    }

    /**
     * Adds the best backend of each device type. Ranks of another API have one backend if their
     * program names none: that of an accelerator, or else that of the CPU.
     */
    private void addBest() {
        List<String> refused = new ArrayList<>();
        List<BackendProvider> byPreference = new ArrayList<>(present);
        byPreference.sort(
                Comparator.comparing(BackendChoice::isForCpu)
                        .thenComparing(BackendProvider::preference, Comparator.reverseOrder()));
        for (BackendProvider provider : byPreference) {
            for (String type : new TreeSet<>(provider.deviceTypes())) {
                if (isChosen(type) || !isWanted(type)) {
                    continue;
                }
                if (provider.availability() instanceof Availability.Unavailable missing) {
                    refused.add(provider.name() + ": " + missing.reason());
                } else {
                    add(provider, type);
                }
            }
        }
        boolean usesDevice = device.isEmpty() || isChosen(device.get().type());
        if (chosen.isEmpty() || !usesDevice) {
            throw new BackendUnavailableException(
                    FailureContext.NONE,
                    "no backend can be used here%s%s"
                            .formatted(
                                    device.map(value -> " for " + value).orElse(""),
                                    refused.isEmpty()
                                            ? "; add the dependency of a binding, see the README"
                                            : "; tried:\n  " + String.join("\n  ", refused)));
        }
        LOGGER.log(
                System.Logger.Level.INFO,
                "no backend was named; the group has {0}",
                String.join(", ", chosen.stream().map(BackendChoice::describe).toList()));
    }

    private static boolean isForCpu(BackendProvider provider) {
        return provider.deviceTypes().contains(Device.CPU.type());
    }

    /** A device that the user names is the only accelerator of this rank. */
    private boolean isWanted(String type) {
        if (interop != Interop.NONE && !chosen.isEmpty()) {
            return false;
        }
        return device.isEmpty()
                || type.equals(Device.CPU.type())
                || type.equals(device.get().type());
    }
}

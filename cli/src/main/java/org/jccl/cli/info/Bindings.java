package org.jccl.cli.info;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import org.jccl.Availability;
import org.jccl.Device;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Services;

/** The backends this project has or plans bindings for, and those of others that are present. */
public final class Bindings {

    /** Names of the backends of this project. */
    public static final List<String> KNOWN = List.of("gloo", "nccl", "mpi", "hccl", "sccl");

    private Bindings() {}

    /**
     * One backend, looked for.
     *
     * @param name its name
     * @param deviceTypes devices whose tensors it takes; empty without a binding
     * @param availability whether it can be used here
     */
    record Binding(String name, Set<String> deviceTypes, Availability availability) {}

    /** Looks for all backends; loads the vendor libraries of those that have a binding. */
    static List<Binding> all() {
        List<BackendProvider> present = present();
        List<Binding> all = new ArrayList<>();
        for (String name : KNOWN) {
            all.add(named(present, name).map(Bindings::of).orElseGet(() -> missing(name)));
        }
        present.stream()
                .filter(provider -> !KNOWN.contains(provider.name()))
                .forEach(provider -> all.add(of(provider)));
        return all;
    }

    /**
     * Whether a backend can be used here; loads its vendor library.
     *
     * @param name the backend's name, in lower case
     * @return version and path, or why not
     */
    public static Availability availability(String name) {
        return named(present(), name)
                .map(BackendProvider::availability)
                .orElseGet(() -> missing(name).availability());
    }

    /**
     * The most devices that a backend finds on this host; loads the vendor libraries.
     *
     * @return 0 if there are none
     */
    public static int devices() {
        int most = 0;
        for (BackendProvider provider : present()) {
            if (provider.availability() instanceof Availability.Available) {
                for (String type : provider.deviceTypes()) {
                    if (!type.equals(Device.CPU.type())) {
                        most = Math.max(most, provider.deviceRuntime(type).deviceCount());
                    }
                }
            }
        }
        return most;
    }

    private static List<BackendProvider> present() {
        return Services.of(
                ServiceLoader.load(BackendProvider.class, Bindings.class.getClassLoader()),
                ServiceLoader.load(BackendProvider.class));
    }

    private static Optional<BackendProvider> named(List<BackendProvider> present, String name) {
        return present.stream().filter(provider -> provider.name().equals(name)).findFirst();
    }

    private static Binding of(BackendProvider provider) {
        return new Binding(provider.name(), provider.deviceTypes(), provider.availability());
    }

    private static Binding missing(String name) {
        String reason = "no binding on the class path; add the artifact" + " org.jccl:jccl-" + name;
        return new Binding(name, Set.of(), new Availability.Unavailable(reason, List.of()));
    }
}

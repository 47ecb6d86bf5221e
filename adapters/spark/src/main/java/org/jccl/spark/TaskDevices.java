package org.jccl.spark;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceLoader;
import org.apache.spark.resource.ResourceInformation;
import org.jccl.Device;
import org.jccl.FailureContext;
import org.jccl.UsageException;
import org.jccl.spi.BackendProvider;
import org.jccl.spi.Services;

/** The devices among a task's resources. */
final class TaskDevices {

    private TaskDevices() {}

    /** The device of a type that a task has, or empty. */
    static Optional<Device> device(Map<String, ResourceInformation> resources, String type) {
        String name = new Device(type, 0).type().equals("cuda") ? "gpu" : type;
        return Optional.ofNullable(resources.get(name)).map(resource -> first(type, resource));
    }

    /** The device that a task has for a backend, or empty where it is to choose. */
    static Optional<Device> ofBackend(Map<String, ResourceInformation> resources, String backends) {
        return resources.keySet().stream()
                .sorted()
                .map(name -> name.equals("gpu") ? "cuda" : name.toLowerCase(Locale.ROOT))
                .filter(type -> takes(backends.toLowerCase(Locale.ROOT), type))
                .findFirst()
                .flatMap(type -> device(resources, type));
    }

    private static Device first(String type, ResourceInformation resource) {
        String[] addresses = resource.addresses();
        try {
            return new Device(type, Integer.parseInt(addresses[0].trim()));
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException e) {
            throw new UsageException(
                    FailureContext.NONE,
                    "Spark's resource "
                            + resource
                            + " must have addresses that are numbers of devices: correct the"
                            + " script of spark.executor.resource."
                            + resource.name()
                            + ".discoveryScript, or set the device in the options of init",
                    e);
        }
    }

    /** Whether one of the backends is for devices of a type. */
    private static boolean takes(String backends, String type) {
        for (String each : backends.split(",")) {
            int colon = each.indexOf(':');
            if (colon < 0
                    ? bindingTakes(each.trim(), type)
                    : each.substring(0, colon).trim().equals(type)) {
                return true;
            }
        }
        return false;
    }

    private static boolean bindingTakes(String name, String type) {
        return Services.of(
                        ServiceLoader.load(
                                BackendProvider.class, TaskDevices.class.getClassLoader()),
                        ServiceLoader.load(BackendProvider.class))
                .stream()
                .anyMatch(
                        binding ->
                                binding.name().equals(name)
                                        && binding.deviceTypes().contains(type));
    }
}

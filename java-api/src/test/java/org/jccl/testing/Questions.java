package org.jccl.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.Map;
import java.util.ServiceLoader;
import org.jccl.BackendUnavailableException;
import org.jccl.DataType;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.Tensor;
import org.jccl.spi.BackendProvider;

/**
 * Asks for a backend of devices in every way there is, twice, and prints the answers. It runs in a
 * {@link ChildJvm} that lacks something.
 */
public final class Questions {

    private static final String BACKEND = "jccl.test.backend";

    private Questions() {}

    /**
     * Has a JVM ask for a backend that it cannot use.
     *
     * @param backend name of the backend
     * @param environment variables that are added
     * @param properties of that JVM
     * @return what it was told
     * @throws IOException if it did not start
     * @throws InterruptedException if the test's time is over
     */
    public static String whyUnavailable(
            String backend, Map<String, String> environment, String... properties)
            throws IOException, InterruptedException {
        String[] arguments = new String[properties.length + 1];
        System.arraycopy(properties, 0, arguments, 0, properties.length);
        arguments[properties.length] = "-D" + BACKEND + "=" + backend;
        String output = ChildJvm.outputOf(Questions.class, environment, arguments);
        assertThat(output).contains("Unavailable[").doesNotContain("not refused");
        return output;
    }

    /**
     * Asks for the backend that a property names.
     *
     * @param arguments none
     */
    public static void main(String[] arguments) {
        String name = System.getProperty(BACKEND);
        BackendProvider provider =
                ServiceLoader.load(BackendProvider.class).stream()
                        .map(ServiceLoader.Provider::get)
                        .filter(each -> each.name().equals(name))
                        .findFirst()
                        .orElseThrow();
        Device device = new Device(provider.deviceTypes().iterator().next(), 0);
        for (int i = 0; i < 2; i++) {
            System.out.println(provider.availability());
            ask(() -> ProcessGroup.builder().backend(name).rank(0).worldSize(1).build());
            ask(() -> Tensor.allocate(device, DataType.FLOAT32, 1));
        }
    }

    private static void ask(Runnable call) {
        try {
            call.run();
            System.out.println("not refused");
        } catch (BackendUnavailableException e) {
            System.out.println("refused: " + e.getMessage());
        }
    }
}

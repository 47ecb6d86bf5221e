package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.File;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Applications of one server: each has JCCL in its own class loader, and is deployed again. */
@Timeout(120)
class ClassLoadersTest {

    private static final int APPLICATIONS = 3;
    private static final int DEPLOYMENTS = 3;
    private static final int PAUSE_MILLIS = 100;

    /** What an application does, in its class loader. */
    public static final class Application {

        private Application() {}

        /** A world of one. */
        public static float sum() {
            try (ProcessGroup group =
                            ProcessGroup.builder()
                                    .backend("gloo")
                                    .store(HashStore.create(enough(Duration.ofSeconds(30))))
                                    .rank(0)
                                    .worldSize(1)
                                    .build();
                    Tensor tensor = Tensor.copyOf(new float[] {3})) {
                group.sync().allReduce(tensor, ReduceOp.SUM);
                return tensor.copyTo(new float[1])[0];
            }
        }
    }

    /** The server. Its threads serve all applications. */
    static final class Server {

        private Server() {}

        public static void main(String[] arguments) throws Exception {
            List<WeakReference<ClassLoader>> ended = new ArrayList<>();
            for (int i = 0; i < DEPLOYMENTS; i++) {
                List<URLClassLoader> applications = new ArrayList<>();
                for (int j = 0; j < APPLICATIONS; j++) {
                    applications.add(
                            new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader()));
                }
                for (URLClassLoader each : applications) {
                    Class<?> type = Class.forName(Application.class.getName(), true, each);
                    System.out.println("sum " + type.getMethod("sum").invoke(null));
                }
                for (URLClassLoader each : applications) {
                    each.close();
                    ended.add(new WeakReference<>(each));
                }
            }
            awaitCollected(ended);
            System.out.println("collected " + ended.size());
        }

        private static void awaitCollected(List<WeakReference<ClassLoader>> ended)
                throws InterruptedException {
            while (ended.stream().anyMatch(each -> each.get() != null)) {
                System.gc();
                TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
            }
        }

        private static URL[] classPath() throws IOException {
            List<URL> urls = new ArrayList<>();
            for (String each : System.getProperty("java.class.path").split(File.pathSeparator)) {
                urls.add(Path.of(each).toUri().toURL());
            }
            return urls.toArray(new URL[0]);
        }
    }

    @Test
    void eachApplicationHasItsOwnCopyAndLeavesNothingBehind() throws Exception {
        String output = ChildJvm.outputOf(Server.class, Map.of());
        assertThat(Arrays.stream(output.split("\n")).filter("sum 3.0"::equals))
                .hasSize(APPLICATIONS * DEPLOYMENTS);
        assertThat(output).contains("collected " + APPLICATIONS * DEPLOYMENTS);
    }
}

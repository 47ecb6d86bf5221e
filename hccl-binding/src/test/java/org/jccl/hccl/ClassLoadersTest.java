package org.jccl.hccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Applications of one server, each of which has JCCL in its own class loader. */
@Timeout(120)
class ClassLoadersTest {

    /** What an application does, in its class loader. */
    public static final class Application {

        private Application() {}

        /** Loads the library. */
        public static String availability() {
            return new HcclProvider().availability().toString();
        }
    }

    static final class Server {

        private Server() {}

        public static void main(String[] arguments) throws Exception {
            List<URL> urls = new ArrayList<>();
            for (String each : System.getProperty("java.class.path").split(File.pathSeparator)) {
                urls.add(Path.of(each).toUri().toURL());
            }
            for (int i = 0; i < 2; i++) {
                try (URLClassLoader loader =
                        new URLClassLoader(
                                urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
                    Class<?> type = Class.forName(Application.class.getName(), true, loader);
                    System.out.println(type.getMethod("availability").invoke(null));
                }
            }
        }
    }

    /** The first one has set a variable that Java does not see. */
    @Test
    void theSecondApplicationMayUseTheLibraryToo() throws Exception {
        assertThat(ChildJvm.outputOf(Server.class, Map.of()).lines())
                .filteredOn(line -> line.startsWith("Available["))
                .hasSize(2);
    }
}

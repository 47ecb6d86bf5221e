package org.jccl.architecture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.Context;
import org.apache.catalina.WebResourceRoot;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.webresources.DirResourceSet;
import org.apache.catalina.webresources.FileResourceSet;
import org.apache.catalina.webresources.StandardRoot;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Three web applications of one Tomcat, each of which is deployed three times. */
@Timeout(120)
@Tag("all")
class TomcatTest {

    private static final int APPLICATIONS = 3;
    private static final int DEPLOYMENTS = 3;
    private static final int PAUSE_MILLIS = 100;

    /** Answers with a sum that a group has made. */
    public static final class Sum extends HttpServlet {

        private static final long serialVersionUID = 1;

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response)
                throws IOException {
            try (ProcessGroup group =
                            ProcessGroup.builder()
                                    .backend("gloo")
                                    .store(HashStore.create(enough(Duration.ofSeconds(30))))
                                    .rank(0)
                                    .worldSize(1)
                                    .build();
                    Tensor tensor = Tensor.copyOf(new float[] {3})) {
                group.sync().allReduce(tensor, ReduceOp.SUM);
                response.getWriter().print("sum " + tensor.copyTo(new float[1])[0]);
            }
        }
    }

    static final class Server {

        private Server() {}

        public static void main(String[] arguments) throws Exception {
            Path folder = Path.of(System.getProperty("folder"));
            Tomcat tomcat = new Tomcat();
            tomcat.setBaseDir(folder.toString());
            tomcat.setPort(0);
            int port = start(tomcat);
            List<WeakReference<ClassLoader>> ended = new ArrayList<>();
            for (int i = 0; i < DEPLOYMENTS; i++) {
                List<Context> contexts = new ArrayList<>();
                for (int j = 0; j < APPLICATIONS; j++) {
                    contexts.add(deploy(tomcat, "/app" + j, folder));
                }
                for (Context each : contexts) {
                    System.out.println(get(port, each.getPath() + "/sum"));
                    ended.add(new WeakReference<>(each.getLoader().getClassLoader()));
                }
                for (Context each : contexts) {
                    each.stop();
                    tomcat.getHost().removeChild(each);
                    each.destroy();
                }
            }
            while (ended.stream().anyMatch(each -> each.get() != null)) {
                System.gc();
                TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
            }
            System.out.println("collected " + ended.size());
            tomcat.stop();
            System.exit(0);
        }

        private static int start(Tomcat tomcat) throws Exception {
            tomcat.getConnector().setProperty("address", "127.0.0.1");
            tomcat.getHost(); // which makes it
            tomcat.start();
            return tomcat.getConnector().getLocalPort();
        }

        private static Context deploy(Tomcat tomcat, String path, Path folder) throws IOException {
            Path content = Files.createDirectories(folder.resolve("content" + path));
            StandardContext context = new StandardContext();
            context.setName(path);
            context.setPath(path);
            context.setDocBase(content.toString());
            context.addLifecycleListener(new Tomcat.FixContextListener());
            WebResourceRoot resources = new StandardRoot(context);
            for (String each : System.getProperty("java.class.path").split(File.pathSeparator)) {
                String name = Path.of(each).getFileName().toString();
                if (Files.isDirectory(Path.of(each))) {
                    resources.addPreResources(
                            new DirResourceSet(resources, "/WEB-INF/classes", each, "/"));
                } else if (name.startsWith("jccl-") || name.startsWith("jackson-")) {
                    resources.addPreResources(
                            new FileResourceSet(resources, "/WEB-INF/lib/" + name, each, "/"));
                }
            }
            context.setResources(resources);
            Tomcat.addServlet(context, "sum", Sum.class.getName()).addMapping("/sum");
            tomcat.getHost().addChild(context);
            return context;
        }

        private static String get(int port, String path) throws IOException {
            try (InputStream in = new URL("http://127.0.0.1:" + port + path).openStream()) {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8);
            }
        }
    }

    @Test
    void applicationsMayBeDeployedAgainAndAgain(@TempDir Path folder) throws Exception {
        String output = ChildJvm.outputOf(Server.class, Map.of(), "-Dfolder=" + folder);
        assertThat(Arrays.stream(output.split("\n")).filter("sum 3.0"::equals))
                .hasSize(APPLICATIONS * DEPLOYMENTS);
        assertThat(output).contains("collected " + APPLICATIONS * DEPLOYMENTS);
    }
}

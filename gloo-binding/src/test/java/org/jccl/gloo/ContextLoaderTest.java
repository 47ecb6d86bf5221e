package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jccl.ProcessGroup;
import org.jccl.ReduceOp;
import org.jccl.Tensor;
import org.jccl.spi.BackendProvider;
import org.jccl.store.HashStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Threads whose context loader is not that of JCCL's classes, as in containers of applications. */
final class ContextLoaderTest {

    private static final Duration TIMEOUT = enough(Duration.ofSeconds(20));

    private static float sumIn(ClassLoader context) throws Exception {
        CompletableFuture<Float> sum = new CompletableFuture<>();
        Thread thread =
                new Thread(
                        () -> {
                            try (ProcessGroup alone =
                                            ProcessGroup.builder()
                                                    .backend("gloo")
                                                    .store(HashStore.create(TIMEOUT))
                                                    .rank(0)
                                                    .worldSize(1)
                                                    .timeout(TIMEOUT)
                                                    .build();
                                    Tensor tensor = Tensor.copyOf(new float[] {3})) {
                                alone.sync().allReduce(tensor, ReduceOp.SUM);
                                sum.complete(tensor.copyTo(new float[1])[0]);
                            } catch (Throwable e) {
                                sum.completeExceptionally(e);
                            }
                        });
        thread.setDaemon(true);
        thread.setContextClassLoader(context);
        thread.start();
        return sum.get(TIMEOUT.toSeconds(), TimeUnit.SECONDS);
    }

    /** As on a thread of the common pool in a Spring Boot jar. */
    @Test
    void aLoaderThatDoesNotSeeTheBindings() throws Exception {
        assertThat(sumIn(ClassLoader.getPlatformClassLoader())).isEqualTo(3);
        assertThat(sumIn(null)).isEqualTo(3);
    }

    /** As where a plug-in has a copy of its own. */
    @Test
    void aLoaderWhoseProvidersAreOfAnotherCopy(@TempDir Path folder) throws Exception {
        Path services = Files.createDirectories(folder.resolve("META-INF/services"));
        Files.writeString(services.resolve(BackendProvider.class.getName()), "java.lang.String\n");
        try (URLClassLoader other =
                new URLClassLoader(
                        new URL[] {folder.toUri().toURL()}, getClass().getClassLoader())) {
            assertThat(sumIn(other)).isEqualTo(3);
        }
    }
}

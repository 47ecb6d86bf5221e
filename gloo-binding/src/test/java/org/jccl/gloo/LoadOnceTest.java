package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.jccl.ProcessGroup;
import org.jccl.spi.support.NativeLibraries;
import org.jccl.store.HashStore;
import org.jccl.testing.ChildJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The libraries are unpacked, compared and loaded once in a process, in little memory. */
@Timeout(120)
class LoadOnceTest {

    private static final int THREADS = 64;

    /** Of 64 KiB a thread. */
    private static final String LITTLE = "-XX:MaxDirectMemorySize=4m";

    /** Each thread that did what is measured is alive until the end. */
    static final class Main {

        private Main() {}

        public static void main(String[] arguments) throws Exception {
            Path cache = Path.of(System.getProperty(NativeLibraries.CACHE_PROPERTY));
            join();
            delete(cache);
            CountDownLatch joined = new CountDownLatch(THREADS);
            CountDownLatch end = new CountDownLatch(1);
            Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
            for (int i = 0; i < THREADS; i++) {
                Thread thread =
                        new Thread(
                                () -> {
                                    try {
                                        join();
                                    } catch (RuntimeException | Error e) {
                                        failures.add(e);
                                    }
                                    joined.countDown();
                                    awaitQuietly(end);
                                });
                thread.setDaemon(true);
                thread.start();
            }
            joined.await();
            failures.forEach(Throwable::printStackTrace);
            System.out.println("failures " + failures.size());
            System.out.println("cache " + Files.exists(cache));
            end.countDown();
        }

        private static void awaitQuietly(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private static void join() {
            ProcessGroup.builder()
                    .backend("gloo")
                    .store(HashStore.create(enough(Duration.ofSeconds(30))))
                    .rank(0)
                    .worldSize(1)
                    .build()
                    .close();
        }

        private static void delete(Path cache) throws IOException {
            List<Path> files;
            try (Stream<Path> all = Files.walk(cache)) {
                files = all.sorted(Comparator.reverseOrder()).toList();
            }
            for (Path file : files) {
                Files.delete(file);
            }
        }
    }

    @Test
    void threadsThatBuildGroupsKeepNoMemoryForIt(@TempDir Path directory) throws Exception {
        String output =
                ChildJvm.outputOf(
                        Main.class,
                        Map.of(),
                        LITTLE,
                        "-D" + NativeLibraries.CACHE_PROPERTY + "=" + directory.resolve("cache"));
        assertThat(output).contains("failures 0", "cache false");
    }
}

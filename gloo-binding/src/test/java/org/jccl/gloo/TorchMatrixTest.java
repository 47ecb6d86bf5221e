package org.jccl.gloo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jccl.Device;
import org.jccl.ProcessGroup;
import org.jccl.conformance.TorchCollectives;
import org.jccl.testing.Families;
import org.jccl.testing.Torch;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Worlds of two to four ranks with every placement of Java and Python ranks, each with every
 * collective. The Python processes serve all worlds, since starting one takes seconds; the Java
 * ranks are threads.
 */
@Timeout(value = 300, unit = TimeUnit.SECONDS)
@Tag("all")
class TorchMatrixTest {

    private static final Path SCRIPT =
            Path.of("..", "examples", "pytorch-interop", "collectives.py");
    private static final int LARGEST = 4;
    private static final Duration TIMEOUT = enough(Duration.ofSeconds(120));

    private static final ExecutorService THREADS = Executors.newCachedThreadPool();
    private static final List<Torch> PYTHON = new ArrayList<>();

    @BeforeAll
    static void start() throws Throwable {
        List<Future<Torch>> starting =
                IntStream.range(1, LARGEST)
                        .mapToObj(i -> THREADS.submit(() -> Torch.start(SCRIPT)))
                        .toList();
        for (Future<Torch> each : starting) {
            try {
                PYTHON.add(each.get());
            } catch (ExecutionException e) {
                throw e.getCause(); // an assumption that does not hold skips the tests
            }
        }
    }

    @AfterAll
    static void end() {
        PYTHON.forEach(Torch::close);
        THREADS.shutdownNow();
    }

    /** One letter a rank. Some placements of four ranks are for {@code script/test --all}. */
    static Stream<String> placements() {
        return IntStream.rangeClosed(2, LARGEST)
                .boxed()
                .flatMap(
                        world ->
                                IntStream.range(1, (1 << world) - 1)
                                        .mapToObj(bits -> placement(world, bits)))
                .filter(letters -> Families.ALL || letters.length() < LARGEST || isUsual(letters));
    }

    /** One rank that is alone with its kind, at either end, or two of each beside each other. */
    private static boolean isUsual(String letters) {
        return Set.of("JPPP", "PPPJ", "PJJJ", "JPJP", "PPJJ").contains(letters);
    }

    private static String placement(int world, int bits) {
        StringBuilder letters = new StringBuilder();
        for (int rank = 0; rank < world; rank++) {
            letters.append((bits >> rank & 1) == 1 ? 'J' : 'P');
        }
        return letters.toString();
    }

    @ParameterizedTest
    @MethodSource("placements")
    void ranksShareEveryCollective(String placement) throws Exception {
        replaceEnded();
        String store = TorchWorld.store();
        List<Future<?>> java = new ArrayList<>();
        List<Torch> python = new ArrayList<>();
        for (int rank = 0; rank < placement.length(); rank++) {
            int mine = rank;
            if (placement.charAt(rank) == 'J') {
                java.add(THREADS.submit(() -> collectives(store, mine, placement.length())));
            } else {
                Torch process = PYTHON.get(python.size());
                process.send(store + " " + rank + " " + placement.length());
                python.add(process);
            }
        }
        try {
            for (Future<?> each : java) {
                each.get();
            }
            for (Torch each : python) {
                assertThat(each.line()).isEqualTo("ok");
            }
        } catch (Throwable e) {
            PYTHON.forEach(Torch::close); // what they still do belongs to this world
            throw e;
        }
    }

    private static void replaceEnded() throws Exception {
        for (int i = 0; i < PYTHON.size(); i++) {
            if (!PYTHON.get(i).process().isAlive()) {
                PYTHON.set(i, Torch.start(SCRIPT));
            }
        }
    }

    private static void collectives(String store, int rank, int world) {
        try (ProcessGroup group = TorchWorld.join(store, rank, world, TIMEOUT)) {
            TorchCollectives.run(group, Device.CPU);
        }
    }
}

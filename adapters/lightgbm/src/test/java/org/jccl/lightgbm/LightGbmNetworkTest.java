package org.jccl.lightgbm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import com.microsoft.ml.lightgbm.PredictionType;
import io.github.metarank.lightgbm4j.LGBMBooster;
import java.io.File;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jccl.UsageException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Ranks as processes, compared with LightGBM's own network. */
@Timeout(180)
class LightGbmNetworkTest {

    private static final int NEVER = -1;

    @TempDir private Path folder;

    private final List<Process> ranks = new ArrayList<>();

    @AfterEach
    void end() {
        ranks.forEach(Process::destroyForcibly);
    }

    private static List<Integer> freePorts(int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sockets.add(new ServerSocket(0));
        }
        List<Integer> ports = sockets.stream().map(ServerSocket::getLocalPort).toList();
        for (ServerSocket each : sockets) {
            each.close();
        }
        return ports;
    }

    private void start(int rank, int size, int port, String... arguments) throws IOException {
        // lightgbm4j writes its library to one file there, and processes would overwrite it.
        Path temporary = Files.createDirectories(folder.resolve("tmp" + rank));
        List<String> command =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-Djava.io.tmpdir=" + temporary,
                                "-cp",
                                System.getProperty("java.class.path"),
                                TrainingRank.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.redirectOutput(folder.resolve("out" + rank).toFile());
        builder.environment()
                .putAll(
                        Map.of(
                                "RANK", Integer.toString(rank),
                                "WORLD_SIZE", Integer.toString(size),
                                "MASTER_ADDR", "127.0.0.1",
                                "MASTER_PORT", Integer.toString(port)));
        ranks.add(builder.start());
    }

    private String output(int rank) throws IOException {
        return Files.readString(folder.resolve("out" + rank));
    }

    /** Returns the models of all ranks, of one network or the other. */
    private List<String> models(int size, boolean own) throws Exception {
        ranks.clear();
        List<Integer> ports = freePorts(size);
        String machines =
                ports.stream().map(port -> "127.0.0.1:" + port).collect(Collectors.joining(","));
        for (int rank = 0; rank < size; rank++) {
            String file = folder.resolve("model" + rank).toString();
            if (own) {
                start(rank, size, 0, file, machines, Integer.toString(ports.get(rank)));
            } else {
                start(rank, size, ports.get(0), file, "jccl", Integer.toString(NEVER));
            }
        }
        List<String> models = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            assertThat(ranks.get(rank).waitFor()).as(output(rank)).isZero();
            models.add(Files.readString(folder.resolve("model" + rank)));
        }
        return models;
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 8})
    void trainsAsLightGbmsOwnNetworkDoes(int size) throws Exception {
        List<String> models = models(size, false);
        assertThat(models).allMatch(models.get(0)::equals);
        String own = models(size, true).get(0);
        if (size != 3) {
            assertThat(models.get(0)).isEqualTo(own); // the same order of sums
        }
        LGBMBooster.loadNative();
        double[] rows = TrainingRank.rows(99, 500);
        double[] predicted = predictions(models.get(0), rows);
        assertThat(predicted).containsExactly(predictions(own, rows), within(1e-6));
    }

    private static double[] predictions(String model, double[] rows) throws Exception {
        try (LGBMBooster booster = LGBMBooster.loadModelFromString(model)) {
            int count = rows.length / TrainingRank.COLUMNS;
            return booster.predictForMat(
                    rows, count, TrainingRank.COLUMNS, true, PredictionType.C_API_PREDICT_NORMAL);
        }
    }

    /** Of 4 ranks, some exchange nothing with the lost one. */
    @ParameterizedTest
    @ValueSource(ints = {3, 4})
    void aKilledWorkerEndsTheOthersWithItsName(int size) throws Exception {
        int port = freePorts(1).get(0);
        int lost = size - 1;
        for (int rank = 0; rank < size; rank++) {
            String end = rank == lost ? "10" : Integer.toString(NEVER);
            start(rank, size, port, folder.resolve("model" + rank).toString(), "jccl", end);
        }
        assertThat(ranks.get(lost).waitFor()).isEqualTo(9);
        for (int rank = 0; rank < lost; rank++) {
            assertThat(ranks.get(rank).waitFor(30, TimeUnit.SECONDS)).isTrue();
            assertThat(ranks.get(rank).exitValue()).isNotZero();
            assertThat(output(rank)).contains("LightGBM's network failed", "rank " + lost);
            assertThat(new File(folder.toFile(), "model" + rank)).doesNotExist();
        }
    }

    @Test
    void refusesNoGroup() {
        assertThatThrownBy(() -> LightGbmNetwork.of(null)).isInstanceOf(UsageException.class);
    }
}

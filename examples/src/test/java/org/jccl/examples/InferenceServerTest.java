package org.jccl.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Ranks as processes; requests over HTTP. */
@Timeout(300)
@Execution(ExecutionMode.CONCURRENT)
class InferenceServerTest {

    /** Of the group: also enough to join on a busy host. */
    private static final Duration TIMEOUT = enough(Duration.ofSeconds(60));

    /** So short that a rank can be idle for longer. */
    private static final Duration SHORT = enough(Duration.ofSeconds(15));

    private final ParallelModel whole = new ParallelModel(0, 1, sum -> {});
    private final ExecutorService sessions = Executors.newFixedThreadPool(4);
    private final List<Process> ranks = new ArrayList<>();
    private int port;

    @AfterEach
    void end() {
        ranks.forEach(Process::destroyForcibly);
        sessions.shutdown();
    }

    private void start(int size, Duration timeout) throws IOException {
        String storePort = Integer.toString(FreePort.next());
        for (int rank = 0; rank < size; rank++) {
            ProcessBuilder builder =
                    new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                            "-cp",
                            System.getProperty("java.class.path"),
                            InferenceServer.class.getName(),
                            "0",
                            Long.toString(timeout.toSeconds()));
            builder.redirectErrorStream(true)
                    .environment()
                    .putAll(
                            Map.of(
                                    "RANK",
                                    Integer.toString(rank),
                                    "WORLD_SIZE",
                                    Integer.toString(size),
                                    "MASTER_ADDR",
                                    "127.0.0.1",
                                    "MASTER_PORT",
                                    storePort));
            ranks.add(builder.start());
        }
        port = Integer.parseInt(lineWith(ranks.get(0), "listening on port").replaceAll("\\D", ""));
    }

    private static String lineWith(Process rank, String words) throws IOException {
        BufferedReader output = rank.inputReader();
        List<String> others = new ArrayList<>();
        for (String line = output.readLine(); line != null; line = output.readLine()) {
            if (line.contains(words)) {
                return line;
            }
            others.add(line);
        }
        throw new AssertionError("no '" + words + "' in " + others);
    }

    private CompletableFuture<String> ask(String prompt) {
        return CompletableFuture.supplyAsync(() -> post(prompt), sessions);
    }

    private String post(String prompt) {
        try {
            URL url = new URL("http://127.0.0.1:" + port + "/generate");
            HttpURLConnection connection = (HttpURLConnection) url.openConnection();
            connection.setDoOutput(true);
            connection.getOutputStream().write(prompt.getBytes(StandardCharsets.UTF_8));
            InputStream answer =
                    connection.getResponseCode() == 200
                            ? connection.getInputStream()
                            : connection.getErrorStream();
            return new String(answer.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void expectRight(String prompt, String answer) {
        assertThat(answer).isEqualTo(whole.generate(prompt, 40));
    }

    @Test
    void ranksThatWereIdleForLongAnswerRightAndStop() throws Exception {
        start(2, SHORT);
        // Past the end of one timeout, and half way through another.
        TimeUnit.NANOSECONDS.sleep(SHORT.toNanos() * 3 / 2);
        expectRight("Once upon a time", ask("Once upon a time").get());
        Map<String, CompletableFuture<String>> sessions = new HashMap<>();
        for (int request = 0; request < 5; request++) {
            for (String session : List.of("first", "second", "third", "fourth")) {
                String prompt = session + " session, request " + request;
                sessions.put(prompt, ask(prompt));
            }
        }
        for (var session : sessions.entrySet()) {
            expectRight(session.getKey(), session.getValue().get());
        }
        assertThat(ask("").get()).isEqualTo("stopped");
        for (Process rank : ranks) {
            assertThat(rank.waitFor()).isZero();
        }
    }

    @Test
    void aKilledWorkerIsNamed() throws Exception {
        start(3, TIMEOUT);
        expectRight("Once", ask("Once").get());
        // A worker says that it waits when it has done so for half a second.
        TimeUnit.SECONDS.sleep(3);
        long begin = System.nanoTime();
        ranks.get(2).destroyForcibly();
        expectEnd(1, 2, begin); // which waits for rank 0
        begin = System.nanoTime();
        assertThat(ask("Once").get()).contains("rank 2");
        expectEnd(0, 2, begin);
    }

    @Test
    void workersThatWaitAreToldThatRank0WasKilled() throws Exception {
        start(3, TIMEOUT);
        expectRight("Once", ask("Once").get());
        long begin = System.nanoTime();
        ranks.get(0).destroyForcibly();
        expectEnd(1, 0, begin);
        expectEnd(2, 0, begin);
    }

    /** Sooner than an operation would time out; the wait for a request has no timeout. */
    private void expectEnd(int rank, int lost, long since) throws Exception {
        assertThat(lineWith(ranks.get(rank), "rank " + lost)).contains("rank " + rank);
        Duration took = Duration.ofNanos(System.nanoTime() - since);
        System.out.println("rank " + lost + " was named after " + took.toMillis() + " ms");
        assertThat(ranks.get(rank).waitFor()).isEqualTo(1);
    }
}

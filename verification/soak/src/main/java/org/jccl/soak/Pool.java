package org.jccl.soak;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/** The processes of one backend, which go on from world to world until something ends them. */
final class Pool implements AutoCloseable {

    private static final int START_MILLIS = 120_000;

    private final Backend backend;
    private final int processes;
    private final Path root;
    private final Path logs;
    private final ServerSocket server;
    private final Map<Integer, RankProcess> ranks = new TreeMap<>();
    private final List<Process> started = new ArrayList<>();

    Pool(Backend backend, int processes, Path root, Path logs) throws IOException {
        this.backend = backend;
        this.processes = processes;
        this.root = root;
        this.logs = logs;
        this.server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
        server.setSoTimeout(START_MILLIS);
    }

    /** So many processes that live. */
    List<RankProcess> take(int count) throws IOException, InterruptedException {
        if (backend.isOneJob() && ranks.values().stream().anyMatch(RankProcess::isGone)) {
            end();
        }
        ranks.values().removeIf(RankProcess::isGone);
        int missing = 0;
        if (backend.isOneJob()) {
            if (ranks.isEmpty()) {
                start(backend.launcher(processes), List.of());
                missing = processes;
            }
        } else {
            for (int number = 0; number < count; number++) {
                if (!ranks.containsKey(number)) {
                    start(List.of(), List.of(Integer.toString(number)));
                    missing++;
                }
            }
        }
        for (int i = 0; i < missing; i++) {
            try {
                RankProcess process = new RankProcess(server.accept());
                ranks.put(process.number(), process);
            } catch (IOException e) {
                throw new IOException(backend + ": a process did not start; see " + logs, e);
            }
        }
        return new ArrayList<>(ranks.values()).subList(0, count);
    }

    private void start(List<String> launcher, List<String> number) throws IOException {
        List<String> command = new ArrayList<>(launcher);
        if (!launcher.isEmpty()) {
            // Open MPI changes the arguments of a program that is java.
            command.add("env");
        }
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(
                List.of(
                        "-Xmx256m",
                        "-XX:+UseSerialGC",
                        "-XX:TieredStopAtLevel=1",
                        "-XX:ErrorFile=" + logs.resolve("hs_err_%p.log")));
        if (backend.checksJni()) {
            command.add("-Xcheck:jni");
        }
        if (Runtime.version().feature() >= 24) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        backend.properties(root).forEach((name, value) -> command.add("-D" + name + "=" + value));
        command.addAll(
                List.of(
                        "-cp",
                        System.getProperty("java.class.path"),
                        RankMain.class.getName(),
                        Integer.toString(server.getLocalPort()),
                        backend.name()));
        command.addAll(number);
        File log =
                logs.resolve(
                                backend.name().toLowerCase(Locale.ROOT)
                                        + (number.isEmpty() ? "" : "-" + number.get(0))
                                        + ".log")
                        .toFile();
        ProcessBuilder builder =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(ProcessBuilder.Redirect.appendTo(log));
        builder.environment().putAll(backend.environment());
        started.add(builder.start());
    }

    /** Ends all processes; new ones are started when they are wanted. */
    void end() throws InterruptedException {
        ranks.values().forEach(process -> process.command("quit"));
        for (Process process : started) {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                ranks.values().forEach(RankProcess::kill);
                process.destroyForcibly();
                process.waitFor();
            }
        }
        ranks.clear();
        started.clear();
    }

    @Override
    public void close() throws IOException {
        try (server) {
            end();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}

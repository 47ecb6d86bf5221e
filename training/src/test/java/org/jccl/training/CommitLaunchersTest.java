package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jccl.store.TcpStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** Jobs of several launchers, which are lost with their ranks and started again. */
@Timeout(7200)
final class CommitLaunchersTest {

    private static final long STEPS = CommitJobTest.STEPS;

    /** At least two ranks, which nothing kills, and steps of 20 ms. */
    private static final String QUIET = STEPS + ",2,0,20,0";

    /** How long a launcher lives on average. */
    private static final double LIFETIME_MILLIS = 10_000;

    /** What all launchers have said. */
    private final List<String> lines = Collections.synchronizedList(new ArrayList<>());

    private final List<Thread> readers = Collections.synchronizedList(new ArrayList<>());
    private final List<Process> started = Collections.synchronizedList(new ArrayList<>());

    @AfterEach
    void killWhatIsLeft() {
        started.forEach(Process::destroyForcibly);
    }

    @Test
    void aLostLauncherComesBackWithItsRanks() throws Exception {
        List<Integer> port = freePorts(1);
        Process first = start(0, 2, QUIET, port);
        Process second = start(1, 2, QUIET, port);
        for (int i = 0; i < 2; i++) {
            awaitSteps("[0,1,2,3]", first);
            second.destroyForcibly().waitFor();
            second = start(1, 2, QUIET, port);
        }
        awaitEnd(List.of(first, second));
    }

    /**
     * The first launcher is lost, and with it a server of the store. The job goes on without it,
     * and it comes back with its rank, but without its server.
     */
    @Test
    @Timeout(600)
    void theJobOutlivesTheFirstLauncher() throws Exception {
        List<Integer> ports = freePorts(3);
        List<Process> launchers = new ArrayList<>();
        for (int node = 0; node < 3; node++) {
            launchers.add(start(node, 3, QUIET, ports));
        }
        awaitSteps("[0,1,2]", launchers.get(1));
        launchers.get(0).destroyForcibly().waitFor();
        awaitSteps("[1,2]", launchers.get(1));
        launchers.set(0, start(0, 3, QUIET, ports));
        awaitSteps("[0,1,2]", launchers.get(1));
        awaitEnd(launchers);
    }

    /**
     * Four launchers with a rank each. Ranks are killed, and so are two of the launchers, also
     * while they join. Nothing may grow in a rank, a launcher and a server that are spared.
     */
    @Test
    @EnabledIfEnvironmentVariable(named = "JCCL_TEST_COMMIT_STEPS", matches = ".+")
    void launchersAreLostAtRandom() throws Exception {
        List<Integer> ports = freePorts(3);
        int victim = ThreadLocalRandom.current().nextInt(3);
        int spared = (victim + 1) % 3;
        String ranks = "%s,2,5000,50,%s".formatted(STEPS, spared);
        Process constant = start(spared, 4, ranks, ports);
        Map<Integer, Process> last = new ConcurrentHashMap<>();
        last.put((victim + 2) % 3, start((victim + 2) % 3, 4, ranks, ports));
        List<Thread> killers = new ArrayList<>();
        for (int node : List.of(victim, 3)) {
            Thread killer = new Thread(() -> keepKilling(node, ranks, ports, last));
            killer.start();
            killers.add(killer);
        }
        List<long[]> samples = new ArrayList<>();
        while (!constant.waitFor(5, TimeUnit.SECONDS)) {
            if (lastStep() > 0 && !isNearlyOver()) {
                samples.add(sample(constant, ports.get(spared)));
                if (samples.size() % 12 == 0) {
                    System.out.println("step " + lastStep() + " of " + STEPS);
                }
            }
        }
        for (Thread killer : killers) {
            killer.join();
        }
        last.put(spared, constant);
        CommitFigures figures = new CommitFigures(lines);
        figures.print();
        System.out.println("spared launcher: threads, descriptors, KB, keys of its server:");
        CommitFigures.printTen(samples);
        awaitEnd(last.values());
        figures.requireNoGrowth(spared);
        CommitFigures.requireNoGrowth(samples, 3, 5, 30_000, 50);
    }

    private void keepKilling(
            int node, String ranks, List<Integer> ports, Map<Integer, Process> last) {
        try {
            while (true) {
                Process launcher = start(node, 4, ranks, ports);
                last.put(node, launcher);
                // Some are killed while they start.
                boolean soon = ThreadLocalRandom.current().nextInt(4) == 0;
                double time = -Math.log(ThreadLocalRandom.current().nextDouble());
                double millis = (soon ? 1_500 : LIFETIME_MILLIS) * time;
                if (launcher.waitFor((long) millis, TimeUnit.MILLISECONDS) || isNearlyOver()) {
                    return;
                }
                lines.add("lost %d %d".formatted(node, System.currentTimeMillis()));
                launcher.destroyForcibly().waitFor();
                Thread.sleep(ThreadLocalRandom.current().nextInt(2_000));
            }
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A launcher that comes after the end of the job finds no store. */
    private boolean isNearlyOver() {
        return lastStep() > STEPS - 300;
    }

    private long lastStep() {
        List<String> now = List.of(lines.toArray(String[]::new));
        for (int i = now.size() - 1; i >= 0; i--) {
            if (now.get(i).startsWith("step ")) {
                return Long.parseLong(now.get(i).split(" ")[1]);
            }
        }
        return -1;
    }

    /** Threads, descriptors and kilobytes of a launcher, and the keys of its server. */
    private static long[] sample(Process launcher, int port) throws IOException {
        Path process = Path.of("/proc", Long.toString(launcher.pid()));
        try (Stream<Path> threads = Files.list(process.resolve("task"));
                Stream<Path> descriptors = Files.list(process.resolve("fd"));
                TcpStore server = TcpStore.connect("127.0.0.1", port, Duration.ofSeconds(10))) {
            String resident =
                    Files.readAllLines(process.resolve("status")).stream()
                            .filter(line -> line.startsWith("VmRSS"))
                            .findFirst()
                            .orElseThrow();
            return new long[] {
                threads.count(),
                descriptors.count(),
                Long.parseLong(resident.replaceAll("\\D", "")),
                server.keyCount()
            };
        }
    }

    private void awaitSteps(String members, Process launcher) throws InterruptedException {
        int before = lines.size();
        while (stepsOf(members, before) < 20) {
            assertThat(launcher.isAlive()).isTrue();
            Thread.sleep(50);
        }
    }

    private long stepsOf(String members, int from) {
        return List.of(lines.toArray(String[]::new)).stream()
                .skip(from)
                .filter(line -> line.startsWith("step") && line.contains(members))
                .count();
    }

    private void awaitEnd(Iterable<Process> launchers) throws InterruptedException {
        for (Process launcher : launchers) {
            assertThat(launcher.waitFor()).isZero();
        }
        for (Thread reader : List.copyOf(readers)) {
            reader.join();
        }
        lines.add("killed by the test");
        CommitJobTest.check(lines);
    }

    private static List<Integer> freePorts(int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sockets.add(new ServerSocket(0));
        }
        List<Integer> ports = sockets.stream().map(ServerSocket::getLocalPort).toList();
        for (ServerSocket socket : sockets) {
            socket.close();
        }
        return ports;
    }

    /** Starts a launcher whose lines are collected. */
    private Process start(int node, int nodes, String ranks, List<Integer> ports)
            throws IOException {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                CommitLauncher.class.getName(),
                                Integer.toString(node),
                                Integer.toString(nodes),
                                ranks));
        ports.forEach(port -> command.add(Integer.toString(port)));
        Process launcher =
                new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        started.add(launcher);
        Thread reader = new Thread(() -> read(launcher));
        reader.start();
        readers.add(reader);
        return launcher;
    }

    private void read(Process launcher) {
        try (BufferedReader output = launcher.inputReader()) {
            output.lines()
                    .forEach(
                            line -> {
                                lines.add(line);
                                if (!line.matches("(step|entered|killed|lost|done) .*")) {
                                    System.out.println(line);
                                }
                            });
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}

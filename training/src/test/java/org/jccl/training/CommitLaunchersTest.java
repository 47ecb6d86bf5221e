package org.jccl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.jccl.testing.Patience.enough;

import java.io.BufferedReader;
import java.io.IOException;
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
import org.jccl.etcd.EtcdCluster;
import org.jccl.store.TcpStore;
import org.jccl.testing.FreePort;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Jobs of several launchers, which are lost with their ranks and started again. */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(7200)
@Tag("all")
final class CommitLaunchersTest {

    private static final long STEPS = CommitJobTest.STEPS;

    /** At least two ranks, which nothing kills, and steps of 20 ms. */
    private static final String QUIET = STEPS + ",2,0,20,0";

    /** How long a launcher, and a rank, lives on average. */
    private static final double LAUNCHER_MILLIS = 8_000;

    private static final int RANK_MILLIS = 4_000;

    /** How many steps are made after the last launcher was killed. */
    private static final int LAST_STEPS = 100;

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
        int port = FreePort.next();
        Process first = start(0, 2, QUIET, port);
        Process second = start(1, 2, QUIET, port);
        for (int i = 0; i < 2; i++) {
            awaitSteps("[0,1,2,3]", first);
            second.destroyForcibly().waitFor();
            second = start(1, 2, QUIET, port);
        }
        awaitEnd(List.of(first, second), STEPS);
    }

    /** The first launcher and a member of the store are lost, and come back. */
    @Test
    @Timeout(600)
    void withEtcdTheJobOutlivesTheFirstLauncher(@TempDir Path folder) throws Exception {
        try (EtcdCluster etcd = EtcdCluster.start(3, folder)) {
            String store = etcd.url("jobs") + "?ttl=20";
            Process first = start(0, 2, QUIET, store);
            Process second = start(1, 2, QUIET, store);
            awaitSteps("[0,1,2,3]", second);
            first.destroyForcibly().waitFor();
            etcd.kill(0);
            awaitSteps("[2,3]", second);
            first = start(0, 2, QUIET, store);
            awaitSteps("[0,1,2,3]", second);
            etcd.restart(0);
            awaitEnd(List.of(first, second), STEPS);
            assertThat(etcd.keys("jobs/nodes/keys/")).isZero();
        }
    }

    /**
     * Two launchers with two ranks each, and three members of etcd. All of them are killed at
     * random, of the members one at a time. The job ends after {@code JCCL_TEST_COMMIT_KILLS}
     * kills, and leaves no key.
     */
    @Test
    @EnabledIfEnvironmentVariable(named = "JCCL_TEST_COMMIT_KILLS", matches = ".+")
    void launchersAndMembersOfEtcdAreLostAtRandom(@TempDir Path folder) throws Exception {
        long kills = Long.parseLong(System.getenv("JCCL_TEST_COMMIT_KILLS"));
        Path end = folder.resolve("last-step");
        String ranks = "%s,2,%s,50,%s".formatted(end, 4 * RANK_MILLIS, -1);
        try (EtcdCluster etcd = EtcdCluster.start(3, folder)) {
            String store = etcd.url("jobs") + "?ttl=20";
            Map<Integer, Process> last = new ConcurrentHashMap<>();
            List<Thread> killers = new ArrayList<>();
            for (int node : List.of(0, 1)) {
                killers.add(
                        new Thread(
                                () ->
                                        keepKilling(
                                                node,
                                                2,
                                                2 * LAUNCHER_MILLIS,
                                                ranks,
                                                store,
                                                last,
                                                end)));
            }
            killers.add(new Thread(() -> keepKilling(etcd, end)));
            killers.forEach(Thread::start);
            for (int i = 1; Files.notExists(end); i++) {
                TimeUnit.SECONDS.sleep(1);
                if (i % 30 == 0) {
                    System.out.printf("%s killed, step %s%n", killed(), lastStep());
                }
                if (killed() >= kills && lastStep() > 0) {
                    Path written =
                            Files.writeString(folder.resolve("new"), lastStep() + LAST_STEPS + "");
                    Files.move(written, end);
                }
            }
            for (Thread killer : killers) {
                killer.join();
            }
            awaitEnd(last.values(), Long.parseLong(Files.readString(end)));
            System.out.printf(
                    "killed: %s ranks, %s launchers, %s members of etcd; %s steps%n",
                    lines.stream().filter(line -> line.startsWith("killed ")).count() - 1,
                    lines.stream().filter(line -> line.matches("lost \\d+ \\d+")).count(),
                    lines.stream().filter(line -> line.startsWith("lost etcd ")).count(),
                    lastStep());
            assertThat(etcd.keys("jobs/nodes/keys/")).isZero();
            TimeUnit.SECONDS.sleep(30);
            assertThat(etcd.keys("jobs/")).isZero();
        }
    }

    /** Kills, stops or empties one member after the other. */
    private void keepKilling(EtcdCluster etcd, Path end) {
        ThreadLocalRandom dice = ThreadLocalRandom.current();
        try {
            while (Files.notExists(end)) {
                Thread.sleep(2_000 + dice.nextInt(6_000));
                int member = dice.nextInt(etcd.size());
                lines.add("lost etcd %d".formatted(member));
                switch (dice.nextInt(4)) {
                    case 0 -> {
                        etcd.signal(member, "STOP");
                        Thread.sleep(dice.nextInt(6_000));
                        etcd.signal(member, "CONT");
                    }
                    case 1 -> {
                        etcd.kill(member);
                        etcd.replace(member);
                    }
                    default -> {
                        etcd.kill(member);
                        Thread.sleep(dice.nextInt(4_000));
                        etcd.restart(member);
                    }
                }
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Four launchers with a rank each. Ranks are killed, and so are two of the launchers, also
     * while they join. Nothing may grow in the launcher that serves the store, its rank and the
     * store. The job ends after {@code JCCL_TEST_COMMIT_KILLS} kills.
     */
    @Test
    @EnabledIfEnvironmentVariable(named = "JCCL_TEST_COMMIT_KILLS", matches = ".+")
    void launchersAreLostAtRandom(@TempDir Path folder) throws Exception {
        long kills = Long.parseLong(System.getenv("JCCL_TEST_COMMIT_KILLS"));
        Path end = folder.resolve("last-step");
        int port = FreePort.next();
        int spared = 0;
        String ranks = "%s,2,%s,50,%s".formatted(end, RANK_MILLIS, spared);
        Process constant = start(spared, 4, ranks, port);
        Map<Integer, Process> last = new ConcurrentHashMap<>();
        last.put(1, start(1, 4, ranks, port));
        List<Thread> killers = new ArrayList<>();
        for (int node : List.of(2, 3)) {
            Thread killer =
                    new Thread(() -> keepKilling(node, 4, LAUNCHER_MILLIS, ranks, port, last, end));
            killer.start();
            killers.add(killer);
        }
        List<long[]> samples = new ArrayList<>();
        while (!constant.waitFor(5, TimeUnit.SECONDS)) {
            if (lastStep() > 0 && Files.notExists(end)) {
                samples.add(sample(constant, port));
                long killed = killed();
                if (samples.size() % 12 == 0) {
                    System.out.printf("%s killed, step %s%n", killed, lastStep());
                }
                if (killed >= kills) {
                    Path written =
                            Files.writeString(folder.resolve("new"), lastStep() + LAST_STEPS + "");
                    Files.move(written, end);
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
        awaitEnd(last.values(), Long.parseLong(Files.readString(end)));
        figures.requireNoGrowth(spared);
        CommitFigures.requireNoGrowth(samples, 3, 5, 30_000, 50);
    }

    private void keepKilling(
            int node,
            int nodes,
            double life,
            String ranks,
            Object store,
            Map<Integer, Process> last,
            Path end) {
        try {
            while (true) {
                Process launcher = start(node, nodes, ranks, store);
                last.put(node, launcher);
                // Some are killed while they start.
                boolean soon = ThreadLocalRandom.current().nextInt(4) == 0;
                double time = -Math.log(ThreadLocalRandom.current().nextDouble());
                double millis = (soon ? 1_500 : life) * time;
                // A launcher that comes after the end of the job finds no store.
                if (launcher.waitFor((long) millis, TimeUnit.MILLISECONDS) || Files.exists(end)) {
                    return;
                }
                lines.add("lost %d %d".formatted(node, System.currentTimeMillis()));
                launcher.destroyForcibly().waitFor();
                Thread.sleep(ThreadLocalRandom.current().nextInt(1_000));
            }
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private long killed() {
        return List.of(lines.toArray(String[]::new)).stream()
                .filter(line -> line.matches("(killed|lost) .* .*"))
                .count();
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
                TcpStore server =
                        TcpStore.connect("127.0.0.1", port, enough(Duration.ofSeconds(10)))) {
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

    private void awaitEnd(Iterable<Process> launchers, long steps) throws InterruptedException {
        for (Process launcher : launchers) {
            assertThat(launcher.waitFor()).isZero();
        }
        for (Thread reader : List.copyOf(readers)) {
            reader.join();
        }
        lines.add("killed by the test");
        CommitJobTest.check(lines, steps);
    }

    /** Starts a launcher whose lines are collected. */
    private Process start(int node, int nodes, String ranks, Object store) throws IOException {
        List<String> command =
                new ArrayList<>(
                        List.of(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-cp",
                                System.getProperty("java.class.path"),
                                CommitLauncher.class.getName(),
                                Integer.toString(node),
                                Integer.toString(nodes),
                                ranks,
                                store.toString()));
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

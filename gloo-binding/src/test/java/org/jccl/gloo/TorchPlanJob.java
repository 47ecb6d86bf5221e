package org.jccl.gloo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jccl.testing.TorchPython;

/**
 * Runs a {@link TorchPlan} by processes of Java and Python, of which now and then one is stopped
 * for a moment. Each writes to a file only, {@code rank-N.log}, whose last line is {@code ok}.
 *
 * <p>As a program: seed, steps, one letter J or P for each rank, whether to stop ranks, directory.
 */
final class TorchPlanJob {

    private static final long TIMEOUT_SECONDS = 60;

    private final Path directory;
    private final List<Process> ranks = new ArrayList<>();

    private TorchPlanJob(Path directory) {
        this.directory = directory;
    }

    public static void main(String[] args) throws Exception {
        List<String> failures =
                run(
                        Long.parseLong(args[0]),
                        Integer.parseInt(args[1]),
                        args[2],
                        Boolean.parseBoolean(args[3]),
                        Path.of(args[4]));
        failures.forEach(System.out::println);
        System.exit(failures.isEmpty() ? 0 : 1);
    }

    /** What went wrong, a text for each rank that did not end well. */
    static List<String> run(long seed, int steps, String placement, boolean stops, Path directory)
            throws Exception {
        TorchPlanJob job = new TorchPlanJob(directory);
        Path plan = directory.resolve("plan.txt");
        Files.write(plan, TorchPlan.make(seed, steps, placement));
        String store = TorchWorld.store();
        try {
            for (int rank = 0; rank < placement.length(); rank++) {
                job.start(plan, store, rank, placement);
            }
            job.await(new Random(seed), stops);
        } finally {
            job.ranks.forEach(Process::destroyForcibly);
        }
        return job.failures();
    }

    private void start(Path plan, String store, int rank, String placement) throws Exception {
        List<String> command = new ArrayList<>();
        if (placement.charAt(rank) == 'J') {
            command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
            command.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
            command.addAll(List.of("-cp", System.getProperty("java.class.path")));
            command.add(TorchPlanRank.class.getName());
        } else {
            Path script = Path.of("src", "test", "resources", "org", "jccl", "gloo");
            command.addAll(List.of(TorchPython.require(), "-W", "ignore"));
            command.add(script.resolve("torch_random.py").toString());
        }
        command.addAll(List.of(plan.toString(), store, Integer.toString(rank)));
        command.addAll(
                List.of(Integer.toString(placement.length()), Long.toString(TIMEOUT_SECONDS)));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        ranks.add(builder.redirectOutput(log(rank).toFile()).start());
    }

    private Path log(int rank) {
        return directory.resolve("rank-" + rank + ".log");
    }

    private void await(Random random, boolean stops) throws Exception {
        while (ranks.stream().anyMatch(Process::isAlive)) {
            Process rank = ranks.get(random.nextInt(ranks.size()));
            if (stops && rank.isAlive()) {
                signal(rank, "-STOP");
                // Some longer than it takes until ranks that wait ask the store why.
                TimeUnit.MILLISECONDS.sleep(random.nextInt(random.nextInt(20) == 0 ? 1500 : 100));
                signal(rank, "-CONT");
                TimeUnit.MILLISECONDS.sleep(random.nextInt(30));
            } else {
                rank.waitFor(10, TimeUnit.MILLISECONDS);
            }
        }
    }

    private static void signal(Process process, String signal)
            throws IOException, InterruptedException {
        new ProcessBuilder("kill", signal, Long.toString(process.pid()))
                .redirectError(ProcessBuilder.Redirect.DISCARD) // it may have ended just now
                .start()
                .waitFor();
    }

    private List<String> failures() throws IOException {
        List<String> failures = new ArrayList<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            String said = Files.readString(log(rank));
            int code = ranks.get(rank).exitValue();
            if (code != 0 || !said.endsWith("ok\n")) {
                failures.add("rank " + rank + " ended with " + code + ": " + said);
            }
        }
        return failures;
    }
}

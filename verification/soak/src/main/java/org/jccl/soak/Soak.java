package org.jccl.soak;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Runs random operations under random faults and checks each element. */
@Command(
        name = "soak",
        mixinStandardHelpOptions = true,
        description = "Runs random operations under random faults and checks each element.")
public final class Soak implements Callable<Integer> {

    private static final int RANKS = 4;

    /** MPI's libraries have few communicators, and those of failed groups are not freed. */
    private static final int CASES_OF_A_JOB = 60;

    private static final int PROGRESS_EVERY = 10;

    /** So many worlds between two runs of the other command. */
    private static final int ALSO_EVERY = 20;

    @Parameters(index = "0", paramLabel = "MINUTES", description = "how long")
    private double minutes;

    @Option(names = "--seed", description = "of all that is drawn; the time by default")
    private long seed = System.currentTimeMillis();

    @Option(names = "--cases", description = "ends after so many worlds, if that is sooner")
    private int cases = Integer.MAX_VALUE;

    @Option(
            names = "--case-seed",
            description = "runs the one world with this seed, as a finding names it")
    private Long caseSeed;

    @Option(names = "--backend", split = ",", description = "${COMPLETION-CANDIDATES}; all")
    private List<Backend> backends = List.of(Backend.values());

    @Option(names = "--fault", split = ",", description = "${COMPLETION-CANDIDATES}; all")
    private List<Fault> faults = List.of(Fault.values());

    @Option(names = "--ranks", description = "of each world, 2 to 4; drawn by default")
    private int ranks;

    @Option(names = "--steps", description = "of each world; drawn by default")
    private int steps;

    @Option(names = "--parallel", description = "worlds at a time; 1 by default")
    private int parallel = 1;

    @Option(
            names = "--also",
            description =
                    "a command that does the same for worlds of other kinds; it is run now and then"
                            + " with its seed as last argument, and fails when it finds something")
    private String also;

    @Option(names = "--root", description = "of the built source tree; here by default")
    private Path root = Path.of("");

    @Option(names = "--output", description = "folder for logs, summary.json and table.md")
    private Path output = Path.of("verification/soak/target/soak");

    private Tally tally;
    private final AtomicInteger next = new AtomicInteger();

    private Soak() {}

    /**
     * The command.
     *
     * @param arguments of the command line
     */
    public static void main(String[] arguments) {
        System.exit(run(arguments));
    }

    /** Returns the exit code. */
    static int run(String... arguments) {
        return new CommandLine(new Soak())
                .setCaseInsensitiveEnumValuesAllowed(true)
                .execute(arguments);
    }

    @Override
    public Integer call() throws Exception {
        output = Files.createDirectories(output).toRealPath();
        root = root.toAbsolutePath();
        tally = new Tally(drawing());
        System.out.printf("soak: seed %d, logs in %s%n", seed, output);
        long start = System.nanoTime();
        long end = start + (long) (minutes * TimeUnit.MINUTES.toNanos(1));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < parallel; i++) {
            int number = i;
            Thread thread = new Thread(() -> runCases(number, end), "soak-" + i);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        lookForCrashes();
        double lasted = (System.nanoTime() - start) / 6e10;
        Files.writeString(output.resolve("table.md"), tally.table());
        writeSummary(lasted);
        System.out.println(tally.table());
        System.out.printf(
                Locale.ROOT,
                "soak: seed %d, %.1f minutes, %d findings%n",
                seed,
                lasted,
                tally.findings().size());
        return tally.findings().isEmpty() ? 0 : 1;
    }

    /** Returns the given options that decide what a seed draws. */
    private String drawing() {
        String names =
                faults.stream()
                        .map(each -> each.name().toLowerCase(Locale.ROOT))
                        .collect(Collectors.joining(","));
        return (faults.size() == Fault.values().length ? "" : " --fault " + names)
                + (ranks > 0 ? " --ranks " + ranks : "")
                + (steps > 0 ? " --steps " + steps : "");
    }

    private void runCases(int number, long end) {
        List<Pool> pools = new ArrayList<>();
        try {
            for (Backend backend : backends) {
                Path logs = Files.createDirectories(output.resolve("logs-" + number));
                pools.add(new Pool(backend, RANKS, root, logs));
            }
            List<List<RankProcess>> seen = new ArrayList<>();
            backends.forEach(each -> seen.add(new ArrayList<>()));
            while (System.nanoTime() < end) {
                int index = next.getAndIncrement();
                if (also != null && index % ALSO_EVERY == 0) {
                    runAlso(Values.mix(seed, index));
                }
                if (index >= cases) {
                    break;
                }
                int which = index / parallel % backends.size();
                long drawn = caseSeed != null ? caseSeed : Values.mix(seed, index);
                runCase(
                        Case.draw(backends.get(which), drawn, faults, ranks, steps),
                        pools.get(which),
                        seen.get(which));
                if (caseSeed != null) {
                    break;
                }
                if (index % PROGRESS_EVERY == PROGRESS_EVERY - 1) {
                    System.out.printf("soak: %d worlds%n", index + 1);
                }
            }
            for (int i = 0; i < backends.size(); i++) {
                Leaks.judge(backends.get(i), seen.get(i), tally, seed);
                pools.get(i).close();
            }
        } catch (IOException | RuntimeException e) {
            e.printStackTrace();
            tally.found(backends.get(0), Fault.NONE, seed, "broken", "the driver: " + e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void runCase(Case drawn, Pool pool, List<RankProcess> seen)
            throws IOException, InterruptedException {
        List<RankProcess> processes = pool.take(drawn.size());
        processes.stream().filter(each -> !seen.contains(each)).forEach(seen::add);
        CaseRun run = new CaseRun(drawn, processes, tally, output);
        boolean fine = run.run();
        Backend backend = drawn.backend();
        boolean jobIsOver =
                backend.isOneJob()
                        && (drawn.fault() == Fault.KILL
                                || !fine
                                || Math.floorMod(drawn.seed(), CASES_OF_A_JOB) == 0);
        boolean stuck = drawn.fault().fails() && !backend.aborts();
        // A process that a finding has left behind, for instance stuck, would spoil later worlds.
        if (jobIsOver || stuck || !fine) {
            pool.end();
        } else if (drawn.fault().fails()) {
            List<RankProcess> survivors = run.survivors();
            if (!survivors.isEmpty()) {
                Case again = drawn.afterwards(survivors.size());
                if (new CaseRun(again, survivors, tally, output).run()) {
                    tally.row(backend, drawn.fault()).regrouped++;
                }
            }
        }
    }

    private void runAlso(long itsSeed) throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder("sh", "-c", also + " " + Math.abs(itsSeed % 1_000_000))
                        .redirectErrorStream(true)
                        .redirectOutput(
                                ProcessBuilder.Redirect.appendTo(
                                        output.resolve("also.log").toFile()))
                        .start();
        if (process.waitFor() != 0) {
            tally.found(
                    backends.get(0), Fault.NONE, itsSeed, "also", also + " failed; see also.log");
        }
    }

    private void lookForCrashes() throws IOException {
        try (Stream<Path> files = Files.walk(output)) {
            for (Path file : files.toList()) {
                String name = file.getFileName().toString();
                if (name.startsWith("hs_err")) {
                    tally.found(backends.get(0), Fault.NONE, seed, "crash", file.toString());
                } else if (name.endsWith(".log")
                        && Files.readString(file).contains(" in native method")) {
                    tally.found(backends.get(0), Fault.NONE, seed, "JNI", "misuse is in " + file);
                }
            }
        }
    }

    private void writeSummary(double lasted) throws IOException {
        try (JsonGenerator json =
                new JsonFactory()
                        .createGenerator(output.resolve("summary.json").toFile(), JsonEncoding.UTF8)
                        .useDefaultPrettyPrinter()) {
            json.writeStartObject();
            json.writeNumberField("seed", seed);
            json.writeNumberField("minutes", lasted);
            json.writeArrayFieldStart("rows");
            for (var faultsOf : tally.rows().entrySet()) {
                for (var each : faultsOf.getValue().entrySet()) {
                    write(json, faultsOf.getKey(), each.getKey(), each.getValue());
                }
            }
            json.writeEndArray();
            json.writeArrayFieldStart("findings");
            for (Tally.Finding finding : tally.findings()) {
                json.writeStartObject();
                json.writeStringField("kind", finding.kind());
                json.writeStringField("backend", finding.backend().name());
                json.writeStringField("fault", finding.fault().name());
                json.writeNumberField("case_seed", finding.seed());
                json.writeStringField("text", finding.text());
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        }
    }

    private static void write(JsonGenerator json, Backend backend, Fault fault, Tally.Row row)
            throws IOException {
        json.writeStartObject();
        json.writeStringField("backend", backend.name());
        json.writeStringField("fault", fault.name());
        json.writeNumberField("worlds", row.cases);
        json.writeNumberField("operations", row.operations);
        json.writeNumberField("elements", row.elements);
        json.writeNumberField("refused", row.refused);
        json.writeNumberField("survivors", row.survivors);
        json.writeNumberField("named", row.named);
        json.writeNumberField("regrouped", row.regrouped);
        json.writeNumberField("missed", row.missed);
        json.writeNumberField("longest_seconds", row.longest);
        json.writeStringField("longest_case", row.longestCase);
        writeCounts(json, "exceptions", row.exceptions);
        writeCounts(json, "findings", row.findings);
        json.writeEndObject();
    }

    private static void writeCounts(JsonGenerator json, String name, Map<String, Integer> counts)
            throws IOException {
        json.writeObjectFieldStart(name);
        for (var count : counts.entrySet()) {
            json.writeNumberField(count.getKey(), count.getValue());
        }
        json.writeEndObject();
    }
}

package org.jccl.soak;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jccl.store.TcpStoreServer;

/** Runs one case on processes and judges what they report. */
final class CaseRun {

    /** What an operation may take beyond its group's timeout, on a machine that is overloaded. */
    private static final Duration MARGIN = Duration.ofSeconds(20);

    /** How long a world without a failure may last. */
    private static final Duration LONGEST = Duration.ofSeconds(300);

    /** A whole pause; short against the timeout of its group. */
    private static final int PAUSE_MILLIS = 1500;

    private static final Set<String> EXPECTED =
            Set.of("PeerLostException", "OperationTimeoutException", "GroupAbortedException");

    /** Of ranks that miss one that closed its world. */
    private static final String LEFT = "PeerLeftException";

    /** Of ranks whose store is gone. */
    private static final Set<String> STORE_LOST = Set.of("StoreException", "StoreTimeoutException");

    private final Case wanted;
    private final List<RankProcess> processes;
    private final Tally tally;
    private final Tally.Row row;
    private final Path directory;
    private long faultNanos;

    CaseRun(Case wanted, List<RankProcess> processes, Tally tally, Path directory) {
        this.wanted = wanted;
        this.processes = new ArrayList<>(processes);
        this.tally = tally;
        this.row = tally.row(wanted.backend(), wanted.fault());
        this.directory = directory;
        if (!wanted.backend().isOneJob()) {
            Collections.shuffle(this.processes, new Random(wanted.seed()));
        }
    }

    /** Returns whether every process did what it had to. */
    boolean run() throws IOException, InterruptedException {
        int before = tally.findings().size();
        row.cases++;
        try (Place place = Place.of(wanted.meeting(), directory)) {
            assign(place.text());
            faultNanos = System.nanoTime();
            boolean happened = true;
            if (wanted.fault().isSignal()) {
                happened = doFault();
            }
            RankProcess victim = wanted.fault().fails() ? victim() : null;
            for (RankProcess each : processes) {
                if (each != victim) {
                    judge(each, false, happened);
                }
            }
            if (wanted.fault() == Fault.FREEZE) {
                faultNanos = System.nanoTime();
                victim.signal("CONT");
            }
            if (victim != null && wanted.fault() != Fault.KILL) {
                judge(victim, true, happened);
            }
        }
        return tally.findings().size() == before;
    }

    /** The processes that can be ranks of another world. */
    List<RankProcess> survivors() {
        return processes.stream()
                .filter(each -> !each.isGone())
                .filter(each -> wanted.fault() != Fault.KILL || each != victim())
                .toList();
    }

    private RankProcess victim() {
        return processes.get(wanted.victim());
    }

    private void assign(String place) {
        Random draw = new Random(Values.mix(wanted.seed(), 2));
        boolean late = wanted.fault() == Fault.LATE;
        for (int rank = 0; rank < wanted.size(); rank++) {
            boolean mine = rank == wanted.victim();
            Assignment.Own own =
                    mine && wanted.fault() == Fault.ABORT
                            ? Assignment.Own.ABORT
                            : mine && wanted.fault() == Fault.CLOSE
                                    ? Assignment.Own.CLOSE
                                    : Assignment.Own.NOTHING;
            int joinDelay = late ? draw.nextInt(2000) : draw.nextInt(20);
            processes
                    .get(rank)
                    .command(
                            new Assignment(
                                            wanted.meeting(),
                                            place,
                                            rank,
                                            wanted.size(),
                                            wanted.seed(),
                                            wanted.steps(),
                                            wanted.timeout(),
                                            late,
                                            joinDelay,
                                            own,
                                            wanted.delayMicros() / 1000,
                                            wanted.fault().fails() && wanted.backend().isOneJob())
                                    .line());
        }
    }

    /** Returns whether the fault happened before the victim was done. */
    private boolean doFault() throws IOException, InterruptedException {
        RankProcess victim = victim();
        String phase = wanted.phase().name().toLowerCase(java.util.Locale.ROOT);
        victim.await(
                line -> line.startsWith(phase) || line.startsWith("end"),
                System.nanoTime() + LONGEST.toNanos());
        TimeUnit.MICROSECONDS.sleep(wanted.delayMicros());
        boolean running = victim.lines().stream().noneMatch(line -> line.startsWith("end"));
        if (wanted.fault() == Fault.KILL) {
            victim.kill();
        } else {
            victim.signal("STOP");
        }
        faultNanos = System.nanoTime();
        if (wanted.fault() == Fault.PAUSE) {
            Thread.sleep(PAUSE_MILLIS);
            victim.signal("CONT");
        }
        return running;
    }

    private void judge(RankProcess process, boolean isVictim, boolean happened)
            throws IOException, InterruptedException {
        boolean fails = wanted.fault().fails();
        Optional<String> joining = process.await("joining", System.nanoTime() + LONGEST.toNanos());
        // A rank that joins after the fault has its own time.
        long start =
                joining.map(line -> Math.max(faultNanos, Long.parseLong(line.split(" ")[1])))
                        .orElse(faultNanos);
        Duration limit = fails ? wanted.timeout().plus(MARGIN) : LONGEST;
        if (!wanted.fault().isSignal() && fails) {
            limit = limit.plusMillis(wanted.delayMicros() / 1000).plus(MARGIN);
        }
        Optional<String> first =
                process.await(
                        line -> line.startsWith("failed") || line.startsWith("end"),
                        start + limit.toNanos());
        Duration closing = wanted.timeout().plus(MARGIN);
        Optional<String> end =
                first.isEmpty()
                        ? first
                        : process.await("end", System.nanoTime() + closing.toNanos());
        if (end.isEmpty()) {
            lost(process, first);
            return;
        }
        String[] counts = end.get().split(" ");
        row.operations += Long.parseLong(counts[1]);
        row.elements += Long.parseLong(counts[2]);
        row.refused += Long.parseLong(counts[3]);
        for (String line : process.lines()) {
            if (line.startsWith("wrong ")) {
                found("wrong", process, line);
            } else if (line.startsWith("broken ")
                    && !(isVictim && isOwnUsage(line))
                    && !isNamedByProcess(line)) {
                found("broken", process, line);
            }
        }
        Optional<String> failure =
                process.lines().stream().filter(line -> line.startsWith("failed")).findFirst();
        if (happened || !fails) {
            failure.ifPresent(line -> judgeFailure(process, isVictim, start, line));
        } else {
            // On a machine that is overloaded the world was not made in time.
            row.missed += failure.isPresent() ? 1 : 0;
        }
        if (failure.isEmpty()
                && happened
                && fails
                && !isVictim
                && wanted.phase() == Case.Phase.RUNNING) {
            found("unnoticed", process, "ended without an exception: " + process.lines());
        }
        if (!wanted.backend().isOneJob()) {
            process.command("resources");
            Optional<String> measured =
                    process.await("resources", System.nanoTime() + MARGIN.toNanos());
            measured.ifPresent(
                    line ->
                            process.resources()
                                    .add(Resources.parse(line.substring("resources ".length()))));
        }
    }

    /** A rank that closed its own world is told so by a UsageException. */
    private boolean isOwnUsage(String line) {
        return wanted.fault() == Fault.CLOSE && line.contains("UsageException");
    }

    private boolean isEndOfJob() {
        return wanted.backend().isOneJob() && wanted.fault() == Fault.KILL;
    }

    private void lost(RankProcess process, Optional<String> first)
            throws IOException, InterruptedException {
        if (process.isGone()) {
            if (!isEndOfJob()) {
                found("crash", process, "the process ended after " + process.lines());
            }
            return;
        }
        Path dump = directory.resolve("hang-" + wanted.seed() + "-" + process.pid() + ".txt");
        process.dump(dump);
        found(
                "hang",
                process,
                (first.isEmpty() ? "no exception" : "not closed")
                        + " in time after "
                        + process.lines()
                        + "; stacks in "
                        + dump);
        process.kill();
        process.await("never", System.nanoTime() + MARGIN.toNanos());
    }

    private void judgeFailure(RankProcess process, boolean isVictim, long start, String line) {
        String[] fields = line.split("\t");
        // The launcher ends all others with one that was killed, and they say that they are ending.
        if (isEndOfJob() && line.contains("the process exits")) {
            return;
        }
        row.exceptions.merge(fields[2], 1, Integer::sum);
        if (!wanted.fault().fails()) {
            found("failed", process, line);
            return;
        }
        boolean storeMayBeLost = isVictim || wanted.meeting() == Assignment.Meeting.RANK_ZERO;
        boolean storeIsHeld =
                wanted.meeting() == Assignment.Meeting.FILE && isNamedByProcess(fields[7]);
        boolean expected =
                EXPECTED.contains(fields[2])
                        || wanted.fault() == Fault.CLOSE && fields[2].equals(LEFT)
                        || (storeMayBeLost || storeIsHeld) && STORE_LOST.contains(fields[2]);
        if (!expected) {
            found("unexpected", process, line);
        }
        if (isVictim) {
            return;
        }
        double seconds = (Long.parseLong(fields[1]) - start) / 1e9;
        if (seconds > row.longest) {
            row.longest = seconds;
            row.longestCase =
                    wanted.seed() + " " + wanted.phase() + ": " + String.join(" ", fields);
        }
        List<Integer> group = numbers(fields[4]);
        Set<Integer> named = Set.copyOf(numbers(fields[5]));
        boolean inIt = group.isEmpty() || group.contains(wanted.victim());
        boolean isNamed =
                named.contains(wanted.victim())
                        || named.contains(group.indexOf(wanted.victim()))
                        || isNamedByProcess(fields[7]);
        // Then nobody can ask what others failed of, and only the place of the store is known.
        boolean fileHeld =
                wanted.meeting() == Assignment.Meeting.FILE
                        && fields[7].contains("the store does not answer");
        boolean storeLost =
                fileHeld
                        || wanted.meeting() == Assignment.Meeting.RANK_ZERO && wanted.victim() == 0;
        if (inIt && !storeLost) {
            row.survivors++;
            row.named += isNamed ? 1 : 0;
        }
        // A monitored barrier knows who did not come, and not for whom that rank waits.
        if (named.isEmpty() && !isNamed && !(storeLost && STORE_LOST.contains(fields[2]))) {
            found("unnamed", process, line);
        } else if (inIt
                && !storeLost
                && !isNamed
                && !fields[6].equals("monitoredBarrier")
                && named.stream().noneMatch(rank -> failedElsewhere(rank, process, fields))) {
            found("misnamed", process, line);
        }
    }

    /** A rank that gave up before in a group without this one is all that this one can know of. */
    private boolean failedElsewhere(int named, RankProcess process, String[] fields) {
        List<Integer> group = numbers(fields[4]);
        int rank = named < group.size() ? group.get(named) : named;
        if (rank >= processes.size()) {
            return false;
        }
        return processes.get(rank).lines().stream()
                .filter(line -> line.startsWith("failed"))
                .map(line -> line.split("\t"))
                .anyMatch(
                        theirs ->
                                Long.parseLong(theirs[1]) < Long.parseLong(fields[1])
                                        && !numbers(theirs[4]).isEmpty()
                                        && !numbers(theirs[4])
                                                .contains(processes.indexOf(process)));
    }

    /** A frozen rank may hold the lock of the store's file; it is known by its process only. */
    private boolean isNamedByProcess(String text) {
        long victim = processes.get(wanted.victim()).pid();
        return text.contains("process " + victim + " (");
    }

    private static List<Integer> numbers(String list) {
        return Arrays.stream(list.split("\\D+"))
                .filter(each -> !each.isEmpty())
                .map(Integer::valueOf)
                .collect(Collectors.toList());
    }

    private void found(String kind, RankProcess process, String text) {
        tally.foundInWorld(
                wanted.backend(),
                wanted.fault(),
                wanted.drawnFrom(),
                kind,
                (wanted.isAfterwards() ? "in the world after it, rank " : "rank ")
                        + processes.indexOf(process)
                        + " of "
                        + wanted.size()
                        + ", victim "
                        + wanted.victim()
                        + " "
                        + wanted.phase()
                        + ", met by "
                        + wanted.meeting()
                        + ": "
                        + text.replace('\t', ' '));
    }

    /** Where ranks meet, while a case runs. */
    private record Place(String text, AutoCloseable resource) implements AutoCloseable {

        static Place of(Assignment.Meeting meeting, Path directory) throws IOException {
            return switch (meeting) {
                case STORE -> {
                    TcpStoreServer server =
                            TcpStoreServer.bind(
                                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                    yield new Place(Integer.toString(server.port()), server);
                }
                case RANK_ZERO -> {
                    // A port that is free now; another process may take it before rank 0 does.
                    try (ServerSocket free =
                            new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                        yield new Place("127.0.0.1:" + free.getLocalPort(), () -> {});
                    }
                }
                case FILE -> {
                    Path file = Files.createTempFile(directory, "store", "");
                    yield new Place(file.toString(), () -> Files.deleteIfExists(file));
                }
            };
        }

        @Override
        public void close() throws IOException {
            try {
                resource.close();
            } catch (IOException | RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IOException(e);
            }
        }
    }
}

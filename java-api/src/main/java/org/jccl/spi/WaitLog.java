package org.jccl.spi;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jccl.JcclException;

/**
 * Logs at level WARNING what a thread waits for, after 10 s and then every 30 s. Another thread
 * computes the line, so a store that does not answer delays only the line.
 */
public final class WaitLog {

    private static final System.Logger LOGGER = System.getLogger(WaitLog.class.getName());

    private static final Duration FIRST = Duration.ofSeconds(10);
    private static final Duration NEXT = Duration.ofSeconds(30);

    /** Only lower ranks check, because each check needs a connection to the store. */
    private static final int MAX_LOOK = 256;

    /** Further hosts are only counted. */
    private static final int MAX_HOSTS = 8;

    private final String waiter;
    private final Supplier<Optional<String>> line;
    private final long start = System.nanoTime();
    private final CountDownLatch over = new CountDownLatch(1);

    private WaitLog(String waiter, Supplier<Optional<String>> line) {
        this.waiter = waiter;
        this.line = line;
    }

    /**
     * Waits for anything.
     *
     * @param <T> the result of the wait
     * @param waiter the name of the waiting thread, for instance {@code rank 1}
     * @param line what it waits for; empty to log nothing this time
     * @param wait waits
     * @return the result of {@code wait}
     */
    public static <T> T during(String waiter, Supplier<Optional<String>> line, Supplier<T> wait) {
        WaitLog log = start(waiter, line, FIRST, NEXT);
        try {
            return wait.get();
        } finally {
            log.close();
        }
    }

    /**
     * Waits for all ranks. The lowest rank that has arrived logs which ranks have arrived and which
     * have not. Ranks from 256 on log nothing.
     *
     * @param <T> the result of the wait
     * @param waiter the name of the waiting thread, for instance {@code world, rank 1}
     * @param rank this rank
     * @param size number of ranks
     * @param here returns those of the given ranks that have arrived, with their hosts; a host is
     *     empty if unknown
     * @param wait waits
     * @return the result of {@code wait}
     */
    public static <T> T during(
            String waiter,
            int rank,
            int size,
            Function<List<Integer>, SortedMap<Integer, String>> here,
            Supplier<T> wait) {
        return during(waiter, rank, size, here, away -> "", wait);
    }

    /**
     * Waits for all ranks as the method above does, and logs further details of missing ranks.
     *
     * @param <T> the result of the wait
     * @param waiter see above, also for the other arguments
     * @param rank this rank
     * @param size number of ranks
     * @param here returns those of the given ranks that have arrived
     * @param about returns the end of the line about the missing ranks, or an empty text
     * @param wait waits
     * @return the result of {@code wait}
     */
    public static <T> T during(
            String waiter,
            int rank,
            int size,
            Function<List<Integer>, SortedMap<Integer, String>> here,
            Function<List<Integer>, String> about,
            Supplier<T> wait) {
        return rank < MAX_LOOK
                ? during(waiter, () -> missing(rank, size, here, about), wait)
                : wait.get();
    }

    static WaitLog start(
            String waiter, Supplier<Optional<String>> line, Duration first, Duration next) {
        WaitLog log = new WaitLog(waiter, line);
        Thread thread = new Thread(() -> log.run(first, next), "jccl-wait-log " + waiter);
        thread.setDaemon(true);
        try {
            thread.start();
        } catch (OutOfMemoryError e) {
            CleanUp.log(waiter + ": missing ranks are not logged during the wait", e);
        }
        return log;
    }

    /**
     * Returns the line about missing ranks, or empty if a lower rank logs it or none is missing.
     */
    static Optional<String> missing(
            int rank,
            int size,
            Function<List<Integer>, SortedMap<Integer, String>> here,
            Function<List<Integer>, String> about) {
        for (int lower = rank - 1; lower >= 0; lower--) {
            if (!here.apply(List.of(lower)).isEmpty()) {
                return Optional.empty();
            }
        }
        List<Integer> all = IntStream.range(0, size).boxed().toList();
        SortedMap<Integer, String> arrived = here.apply(all);
        List<Integer> away = all.stream().filter(other -> !arrived.containsKey(other)).toList();
        return away.isEmpty()
                ? Optional.empty()
                : Optional.of(text(arrived, away) + about.apply(away));
    }

    /** Describes the ranks. The text stays short for thousands of ranks. */
    private static String text(SortedMap<Integer, String> arrived, List<Integer> away) {
        Map<String, List<Integer>> hosts = new LinkedHashMap<>();
        arrived.forEach(
                (rank, host) -> hosts.computeIfAbsent(host, added -> new ArrayList<>()).add(rank));
        hosts.remove("");
        List<String> byHost = new ArrayList<>();
        hosts.forEach((host, ranks) -> byHost.add(Arrivals.ranks(ranks) + " on " + host));
        if (byHost.size() > MAX_HOSTS) {
            List<String> rest = byHost.subList(MAX_HOSTS, byHost.size());
            int more = rest.size();
            rest.clear();
            byHost.add("others on " + more + " more hosts");
        }
        return "ranks %s of %s have not arrived; ranks %s have%s"
                .formatted(
                        Arrivals.ranks(away),
                        arrived.size() + away.size(),
                        Arrivals.ranks(List.copyOf(arrived.keySet())),
                        byHost.isEmpty() ? "" : " (" + String.join(", ", byHost) + ")");
    }

    private void run(Duration first, Duration next) {
        try {
            Duration pause = first;
            while (!over.await(pause.toNanos(), TimeUnit.NANOSECONDS)) {
                Optional<String> text = line.get();
                long waited = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start);
                if (text.isPresent() && over.getCount() > 0) {
                    LOGGER.log(
                            Level.WARNING,
                            waiter + " has waited for " + waited + " s: " + text.get());
                }
                pause = next;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (JcclException e) {
            // The wait uses the same store and reports its failure.
            LOGGER.log(Level.DEBUG, "cannot determine which ranks " + waiter + " waits for", e);
        }
    }

    /** Ends the log. Does not wait for a line that is being computed. */
    void close() {
        over.countDown();
    }
}

package org.jccl.soak;

import java.util.List;
import java.util.Locale;
import java.util.function.ToLongFunction;

/** Looks for what processes hold more of from world to world. */
final class Leaks {

    /** Worlds in which a JVM loads classes and starts its threads. */
    private static final int WARM = 8;

    /** Fewer than these tell nothing. */
    private static final int FEWEST = 24;

    private static final int MOST_HANDLES = 2;
    private static final long MOST_HEAP = 4L << 20;
    private static final long MOST_RESIDENT = 64L << 20;

    private Leaks() {}

    static void judge(Backend backend, List<RankProcess> processes, Tally tally, long seed) {
        for (RankProcess process : processes) {
            List<Resources> measured = process.resources();
            if (measured.size() < FEWEST) {
                continue;
            }
            String line =
                    String.format(
                            Locale.ROOT,
                            "| %s %d | %d | %s | %s | %s | %s |",
                            backend.name().toLowerCase(Locale.ROOT),
                            process.number(),
                            measured.size(),
                            growth(measured, held -> held.heap() >> 10),
                            growth(measured, held -> held.resident() >> 20),
                            growth(measured, Resources::threads),
                            growth(measured, Resources::descriptors));
            tally.resources(line);
            if (grew(measured)) {
                tally.found(backend, Fault.NONE, seed, "leak", line);
            }
        }
    }

    static boolean grew(List<Resources> measured) {
        return growth(measured, Resources::threads).by() > MOST_HANDLES
                || growth(measured, Resources::descriptors).by() > MOST_HANDLES
                || growth(measured, Resources::heap).by() > MOST_HEAP
                || growth(measured, Resources::resident).by() > MOST_RESIDENT;
    }

    /** The least that was held in the first and in the last quarter after warming up. */
    private record Growth(long early, long late) {
        long by() {
            return late - early;
        }

        @Override
        public String toString() {
            return early + " to " + late;
        }
    }

    private static Growth growth(List<Resources> measured, ToLongFunction<Resources> what) {
        List<Resources> warm = measured.subList(WARM, measured.size());
        int quarter = Math.max(1, warm.size() / 4);
        return new Growth(
                least(warm.subList(0, quarter), what),
                least(warm.subList(warm.size() - quarter, warm.size()), what));
    }

    private static long least(List<Resources> measured, ToLongFunction<Resources> what) {
        return measured.stream().mapToLong(what).min().orElse(0);
    }
}

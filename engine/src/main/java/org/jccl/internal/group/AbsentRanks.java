package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.Durations;

/**
 * Explains which ranks a world lacks, from the tickets in the store.
 *
 * @param store the part of the store in which ranks of worlds of this size meet
 * @param worlds the part of the store in which ranks of worlds of any size meet
 * @param rank the rank of this process
 * @param size number of ranks
 * @param servesOneWorld whether rank 0 serves the store for this world only
 * @param timeout the timeout of the user for joining, for messages
 */
record AbsentRanks(
        Store store, Store worlds, int rank, int size, boolean servesOneWorld, Duration timeout) {

    /** The key for the reason why rank 0 gave up. */
    static final String WHY = "why";

    /**
     * In larger worlds, only rank 0 searches for missing ranks. If all ranks searched at the same
     * time, the store could not answer in time.
     */
    private static final int MOST_LOOK = 256;

    /** How much later than this rank rank 0 may time out. */
    private static final Duration RANK_ZERO_GRACE = Duration.ofSeconds(2);

    /**
     * Describes the missing ranks. The ranks time out at about the same time, so a rank that has
     * withdrawn its ticket was present and is not missing.
     */
    String describe() {
        if (rank > 0 && size > MOST_LOOK) {
            return whatRankZeroSays();
        }
        String found = lookForMissing();
        if (rank == 0) {
            store.set(WHY, found.getBytes(StandardCharsets.UTF_8));
        }
        return found;
    }

    /** Returns the description of rank 0, for worlds in which not every rank searches. */
    private String whatRankZeroSays() {
        String ofRankZero = present(List.of(0)).getOrDefault(0, WorldAgreement.TAKEN);
        if (ofRankZero.startsWith(WorldAgreement.TAKEN)) {
            return "ranks [0] of " + size + " did not join within " + Durations.text(timeout);
        }
        try {
            store.await(List.of(WHY), RANK_ZERO_GRACE);
        } catch (StoreTimeoutException e) {
            return "the world of %s ranks was not made within %s; rank 0 still waits, and its message will name the missing ranks"
                    .formatted(size, Durations.text(timeout));
        }
        return "rank 0 gave up: " + Arrivals.text(store.get(WHY));
    }

    private String lookForMissing() {
        List<Integer> absent = new ArrayList<>();
        List<Integer> gaveUp = new ArrayList<>();
        // If rank 0 serves this store, it is present.
        List<Integer> others =
                IntStream.range(servesOneWorld ? 1 : 0, size)
                        .filter(other -> other != rank)
                        .boxed()
                        .toList();
        Map<Integer, String> tickets = present(others);
        for (int other : others) {
            String ticket = tickets.get(other);
            if (ticket == null || !WorldAgreement.waits(ticket)) {
                (WorldAgreement.WITHDRAWN.equals(ticket) ? gaveUp : absent).add(other);
            }
        }
        String rest =
                " within %s%s"
                        .formatted(
                                Durations.text(timeout),
                                gaveUp.isEmpty()
                                        ? ""
                                        : " (ranks "
                                                + Arrivals.ranks(gaveUp)
                                                + " came, and gave up before)");
        if (!absent.isEmpty()) {
            return "ranks "
                    + Arrivals.ranks(absent)
                    + " of "
                    + size
                    + " did not join"
                    + rest
                    + inOtherWorlds(absent);
        }
        return rank == 0 || gaveUp.contains(0)
                ? "the world of " + size + " ranks was not made" + rest
                : "rank 0 did not make the world of " + size + " ranks, though all came," + rest;
    }

    /** Says which absent ranks wait, or waited, for a world of another size. */
    String inOtherWorlds(List<Integer> absent) {
        SortedMap<Integer, List<Integer>> bySize = new TreeMap<>();
        values(worlds, absent, AbsentRanks::sizeOf)
                .forEach(
                        (other, text) -> {
                            int theirs = Integer.parseInt(text);
                            if (theirs != size && isWithoutWorld(other, theirs)) {
                                bySize.computeIfAbsent(theirs, any -> new ArrayList<>()).add(other);
                            }
                        });
        StringBuilder found = new StringBuilder();
        bySize.forEach(
                (theirs, ranks) ->
                        found.append("; ranks ")
                                .append(Arrivals.ranks(ranks))
                                .append(" want a world of ")
                                .append(theirs)
                                .append(" ranks"));
        return found.toString();
    }

    /** Its ticket in a world that was made is an old one. */
    private boolean isWithoutWorld(int other, int theirs) {
        String key = theirs + "/" + WorldAgreement.ticketOf(other);
        return worlds.check(List.of(key))
                && !Arrivals.text(worlds.get(key)).startsWith(WorldAgreement.TAKEN);
    }

    static String sizeOf(int rank) {
        return "size/" + rank;
    }

    /** Returns the tickets of ranks. Ranks that never wrote one are not among the keys. */
    Map<Integer, String> present(List<Integer> ranks) {
        return values(store, ranks, WorldAgreement::ticketOf);
    }

    private static Map<Integer, String> values(
            Store from, List<Integer> ranks, IntFunction<String> key) {
        List<Integer> came = new ArrayList<>(ranks);
        came.removeAll(new HashSet<>(Arrivals.missing(from, ranks, key)));
        Map<Integer, String> found = new TreeMap<>();
        if (!came.isEmpty()) {
            List<byte[]> values = from.multiGet(came.stream().map(key::apply).toList());
            for (int i = 0; i < came.size(); i++) {
                found.put(came.get(i), Arrivals.text(values.get(i)));
            }
        }
        return found;
    }
}

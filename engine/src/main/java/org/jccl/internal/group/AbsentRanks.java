package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;
import org.jccl.spi.Arrivals;
import org.jccl.spi.Durations;

/**
 * Explains which ranks a world lacks, from the tickets in the store.
 *
 * @param store the part of the store in which ranks of worlds of this size meet
 * @param rank the rank of this process
 * @param size number of ranks
 * @param servesOneWorld whether rank 0 serves the store for this world only
 * @param timeout the timeout of the user for joining, for messages
 */
record AbsentRanks(Store store, int rank, int size, boolean servesOneWorld, Duration timeout) {

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
            return "ranks " + Arrivals.ranks(absent) + " of " + size + " did not join" + rest;
        }
        return rank == 0 || gaveUp.contains(0)
                ? "the world of " + size + " ranks was not made" + rest
                : "rank 0 did not make the world of " + size + " ranks, though all came," + rest;
    }

    /** Returns the tickets of ranks. Ranks that never wrote one are not among the keys. */
    Map<Integer, String> present(List<Integer> ranks) {
        List<Integer> came = new ArrayList<>(ranks);
        came.removeAll(new HashSet<>(Arrivals.missing(store, ranks, WorldAgreement::ticketOf)));
        Map<Integer, String> tickets = new TreeMap<>();
        if (!came.isEmpty()) {
            List<byte[]> values =
                    store.multiGet(came.stream().map(WorldAgreement::ticketOf).toList());
            for (int i = 0; i < came.size(); i++) {
                tickets.put(came.get(i), Arrivals.text(values.get(i)));
            }
        }
        return tickets;
    }
}

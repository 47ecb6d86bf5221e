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
 * Says which ranks a world was not made without, from the tickets in the store.
 *
 * @param store the part of the store in which ranks of worlds of this size meet
 * @param rank this process's rank
 * @param size number of ranks
 * @param servesOneWorld whether rank 0 serves the store for this world alone
 * @param timeout that the user gave for joining, for messages
 */
record AbsentRanks(Store store, int rank, int size, boolean servesOneWorld, Duration timeout) {

    /** Why rank 0 gave up, when it has. */
    static final String WHY = "why";

    /**
     * In larger worlds only rank 0 looks for ranks that are missing: when all that have come look
     * for all others at the same time, the store does not get through with it.
     */
    private static final int MOST_LOOK = 256;

    /** How much later than this rank's the time of rank 0 may be over. */
    private static final Duration RANK_ZERO_GRACE = Duration.ofSeconds(2);

    /**
     * The others give up at about the same time, so one that has taken its ticket back was here and
     * is not to blame for it.
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

    /** For the worlds in which not every rank looks for every other. */
    private String whatRankZeroSays() {
        String ofRankZero = present(List.of(0)).getOrDefault(0, WorldAgreement.TAKEN);
        if (ofRankZero.startsWith(WorldAgreement.TAKEN)) {
            return "ranks [0] of " + size + " did not join within " + Durations.text(timeout);
        }
        try {
            store.await(List.of(WHY), RANK_ZERO_GRACE);
        } catch (StoreTimeoutException e) {
            return "the world of %s ranks was not made within %s; rank 0 still waits, and its message will say for whom"
                    .formatted(size, Durations.text(timeout));
        }
        return "rank 0 gave up: " + WorldAgreement.text(store.get(WHY));
    }

    private String lookForMissing() {
        List<Integer> absent = new ArrayList<>();
        List<Integer> gaveUp = new ArrayList<>();
        // Rank 0 is here where it serves this store.
        List<Integer> others =
                IntStream.range(servesOneWorld ? 1 : 0, size)
                        .filter(other -> other != rank)
                        .boxed()
                        .toList();
        Map<Integer, String> tickets = present(others);
        for (int other : others) {
            String ticket = tickets.get(other);
            if (ticket == null || !WorldAgreement.waits(ticket)) {
                (WorldAgreement.TAKEN_BACK.equals(ticket) ? gaveUp : absent).add(other);
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

    /** What ranks have put down last; those that never did are not among the keys. */
    Map<Integer, String> present(List<Integer> ranks) {
        List<Integer> came = new ArrayList<>(ranks);
        came.removeAll(new HashSet<>(Arrivals.missing(store, ranks, WorldAgreement::ticketOf)));
        Map<Integer, String> tickets = new TreeMap<>();
        if (!came.isEmpty()) {
            List<byte[]> values =
                    store.multiGet(came.stream().map(WorldAgreement::ticketOf).toList());
            for (int i = 0; i < came.size(); i++) {
                tickets.put(came.get(i), WorldAgreement.text(values.get(i)));
            }
        }
        return tickets;
    }
}

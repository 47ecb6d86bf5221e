package org.jccl.internal.group;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.StoreTimeoutException;
import org.jccl.internal.backend.Release;
import org.jccl.spi.Arrivals;
import org.jccl.spi.BoundedCall;
import org.jccl.spi.Deadline;
import org.jccl.spi.Durations;
import org.jccl.spi.LocalHost;
import org.jccl.spi.Polling;
import org.jccl.spi.SilentStore;
import org.jccl.spi.WaitLog;
import org.jccl.store.PrefixStore;

/**
 * How the ranks of a world agree on an unused part of the store. A store may outlive a world, for
 * instance the store of a launcher. What an earlier world wrote there, such as the addresses of its
 * ranks, must never be read by this one.
 *
 * <p>Each attempt of a rank writes a ticket, a random text. When a ticket of every rank is present,
 * rank 0 takes each ticket by a compare-and-set, and answers to each the number of the new world.
 * So a world consists of exactly one attempt of each rank, even if ranks have tried before. A rank
 * that times out withdraws its ticket in the same way; if the ticket was taken, the rank is a
 * member. In a store that outlives processes, a ticket may be that of a killed one: there rank 0
 * calls each ticket first, and takes all when each has been confirmed.
 */
public final class WorldAgreement {

    private static final String PREFIX = "worlds";

    /** In a store that serves one world: the world has been made, or never will be. */
    private static final String OVER = "over";

    private static final String COUNTER = "made";
    private static final String TAKEN = "taken ";

    /** In a ticket, separates the random text, the version of JCCL, and the host. */
    private static final char AT = '@';

    private static final String WITHDRAWN = "";
    private static final String RETRY = "again";

    /** Begins an answer after which rank 0 waits until the rank has confirmed its ticket. */
    private static final String CALLED = "called ";

    /** Begins an answer that says why there will be no world. */
    private static final String REFUSED = "refused: ";

    /** The key for the reason why rank 0 gave up. */
    private static final String WHY = "why";

    /**
     * In larger worlds, only rank 0 searches for missing ranks. If all ranks searched at the same
     * time, the store could not answer in time.
     */
    private static final int MAX_SEARCHED_SIZE = 256;

    /** How much later than this rank rank 0 may time out. */
    private static final Duration RANK_ZERO_GRACE = Duration.ofSeconds(2);

    private static final Duration MIN_POLL = Duration.ofMillis(5);
    private static final Duration MAX_POLL = Duration.ofMillis(50);

    /** How long to wait for an answer that rank 0 is about to write. */
    private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(5);

    private final Store root;
    private final Store store;
    private final Store worlds;
    private final FailureContext context;
    private final int rank;
    private final int size;
    private final boolean servesOneWorld;
    private final Duration timeout;
    private final Release release;
    private final Deadline deadline;

    /** Creates the agreement of one attempt to join, with the whole timeout. */
    public WorldAgreement(
            Store root, int rank, int size, boolean servesOneWorld, Duration timeout) {
        this(root, rank, size, servesOneWorld, timeout, timeout);
    }

    /**
     * Creates the agreement of one attempt to join.
     *
     * @param root the store of all ranks
     * @param servesOneWorld whether rank 0 serves the store for this world only
     * @param timeout the timeout of the user for joining, for messages
     * @param within how long to wait for the other ranks
     */
    public WorldAgreement(
            Store root,
            int rank,
            int size,
            boolean servesOneWorld,
            Duration timeout,
            Duration within) {
        this(
                root,
                rank,
                size,
                servesOneWorld,
                timeout,
                within,
                Release.of("jccl-engine", WorldAgreement.class));
    }

    WorldAgreement(
            Store root,
            int rank,
            int size,
            boolean servesOneWorld,
            Duration timeout,
            Duration within,
            Release release) {
        this.release = release;
        this.root = root;
        this.store = new PrefixStore(PREFIX + "/" + size, root);
        this.context = FailureContext.ofGroup("world", rank);
        this.rank = rank;
        this.size = size;
        this.servesOneWorld = servesOneWorld;
        this.timeout = timeout;
        this.worlds = new PrefixStore(PREFIX, root);
        this.deadline = Deadline.after(within);
    }

    /**
     * Waits for the other ranks.
     *
     * @return the part of the store of the new world
     * @throws StoreException if the store is lost, or belongs to an earlier world that rank 0 has
     *     not closed yet; another connection may reach the right one
     * @throws OperationTimeoutException if a rank does not come in time; names the missing ranks
     * @throws MismatchException if a rank runs another release, with another major or minor version
     */
    public Store enter() {
        // Ranks of other sizes wait under other keys.
        worlds.set(sizeOf(rank), bytes(Integer.toString(size)));
        String world =
                WaitLog.during(
                        "world, rank " + rank,
                        rank,
                        size,
                        this::waiting,
                        this::inOtherWorlds,
                        rank == 0 ? this::invite : this::accept);
        return new PrefixStore(PREFIX + "/" + size + "/" + world, root);
    }

    /** Returns the hosts of ranks that wait, including this one. */
    private SortedMap<Integer, String> waiting(List<Integer> ranks) {
        SortedMap<Integer, String> hosts = new TreeMap<>();
        present(ranks)
                .forEach(
                        (other, ticket) -> {
                            if (waits(ticket)) {
                                hosts.put(other, hostIn(ticket));
                            }
                        });
        return hosts;
    }

    private String accept() {
        while (true) {
            requireNotOver();
            String ticket = newTicket();
            put(ticketOf(rank), ticket);
            String answer = answer(ticket);
            if (answer.startsWith(REFUSED)) {
                throw new MismatchException(context, answer.substring(REFUSED.length()));
            }
            if (!answer.equals(RETRY)) {
                return answer;
            }
        }
    }

    private void requireNotOver() {
        if (servesOneWorld && store.check(List.of(OVER))) {
            throw new StoreException(
                    "the store still belongs to an earlier world, which rank 0 has not closed: close the old group on every rank",
                    null);
        }
    }

    private String answer(String ticket) {
        String key = answerTo(ticket);
        try {
            awaitAnswer(ticket, deadline);
        } catch (StoreTimeoutException e) {
            String present = bounded(() -> exchange(ticketOf(rank), ticket, WITHDRAWN), e);
            if (present.equals(WITHDRAWN)) {
                throw missing(e);
            }
            if (!present.equals(TAKEN + ticket)) {
                throw duplicateRank(e);
            }
            awaitPromisedAnswer(ticket);
        }
        String answer = Arrivals.text(store.get(key));
        store.deleteKey(key);
        return answer;
    }

    /** Once its ticket was taken, a rank belongs to the world, even after its timeout. */
    private void awaitPromisedAnswer(String ticket) {
        try {
            awaitAnswer(ticket, Deadline.after(ANSWER_TIMEOUT));
        } catch (StoreTimeoutException e) {
            throw OperationTimeoutException.ofCall(
                    context,
                    "rank 0 began to make the world and then stopped; read its log, and build the world again on every rank",
                    e);
        }
    }

    /** Waits for the answer to a ticket, and confirms the ticket each time that it is called. */
    private void awaitAnswer(String ticket, Deadline limit) {
        String key = answerTo(ticket);
        store.await(List.of(key), left(limit));
        String call = "";
        Duration pause = MIN_POLL;
        while (true) {
            String answer = Arrivals.text(store.get(key));
            if (!answer.startsWith(CALLED)) {
                return;
            }
            if (!answer.equals(call)) {
                call = answer;
                put(confirmationOf(ticket, call), "");
            }
            if (limit.hasPassed()) {
                throw new StoreTimeoutException("rank 0 has called, and not answered", null);
            }
            Polling.sleep(pause);
            pause = longer(pause);
        }
    }

    /**
     * Calls the owners of tickets.
     *
     * @return false if a rank has come with another ticket
     */
    private boolean confirm(List<Integer> others, List<String> tickets) {
        String call = CALLED + UUID.randomUUID();
        answer(tickets, call);
        List<String> keys = tickets.stream().map(each -> confirmationOf(each, call)).toList();
        Duration pause = MIN_POLL;
        while (!store.check(keys)) {
            if (!tickets(others).equals(tickets)) {
                return false;
            }
            if (deadline.hasPassed()) {
                forgetUnconfirmed(others, keys);
                throw missing(null);
            }
            Polling.sleep(pause);
            pause = longer(pause);
        }
        keys.forEach(store::deleteKey);
        return true;
    }

    /** Those ranks have not joined: their tickets are older. */
    private void forgetUnconfirmed(List<Integer> others, List<String> keys) {
        for (int i = 0; i < keys.size(); i++) {
            if (!store.check(List.of(keys.get(i)))) {
                store.deleteKey(ticketOf(others.get(i)));
            }
        }
    }

    private String invite() {
        store.deleteKey(WHY);
        put(ticketOf(0), newTicket());
        List<Integer> others = IntStream.range(1, size).boxed().toList();
        try {
            while (true) {
                List<String> tickets = tickets(others);
                requireFit(others, tickets);
                if (!servesOneWorld && !confirm(others, tickets)) {
                    continue;
                }
                List<String> taken = take(others, tickets);
                if (taken.size() == others.size()) {
                    String world = Long.toString(nextNumber());
                    close(TAKEN);
                    answer(tickets, world);
                    return world;
                }
                answer(taken, RETRY);
            }
        } catch (OperationTimeoutException e) {
            close(WITHDRAWN);
            rejectWaiting(others);
            throw e;
        }
    }

    /** Refuses all ranks if one has another major or minor version. */
    private void requireFit(List<Integer> others, List<String> tickets) {
        for (int i = 0; i < tickets.size(); i++) {
            String ticket = tickets.get(i);
            if (!Release.fit(release.version(), versionIn(ticket))) {
                String why =
                        "rank %s on %s runs JCCL %s, and rank 0 on %s runs %s (%s); all ranks need the same major and minor version"
                                .formatted(
                                        others.get(i),
                                        hostIn(ticket),
                                        versionIn(ticket),
                                        LocalHost.name(),
                                        release.version(),
                                        release.origin());
                close(WITHDRAWN);
                answer(tickets, REFUSED + why);
                throw new MismatchException(context, why);
            }
        }
    }

    /**
     * Numbers do not start at 1. A rank of an earlier job, whose store was served at the same
     * address, may still write its failure there. It must not be taken for a rank of a world of
     * this store.
     */
    private long nextNumber() {
        long first = UUID.randomUUID().getMostSignificantBits() >>> Short.SIZE;
        exchange(COUNTER, "", Long.toString(first));
        return store.add(COUNTER, 1);
    }

    /** Returns the tickets of the other ranks, as soon as all are present. */
    private List<String> tickets(List<Integer> ranks) {
        List<String> keys = ranks.stream().map(WorldAgreement::ticketOf).toList();
        try {
            store.await(keys, left());
        } catch (StoreTimeoutException e) {
            throw missing(e);
        }
        Duration pause = MIN_POLL;
        while (true) {
            List<String> tickets = store.multiGet(keys).stream().map(Arrivals::text).toList();
            if (tickets.stream().allMatch(WorldAgreement::waits)) {
                return tickets;
            }
            if (deadline.hasPassed()) {
                throw missing(null);
            }
            Polling.sleep(pause);
            pause = longer(pause);
        }
    }

    private static Duration longer(Duration pause) {
        Duration longer = pause.multipliedBy(2);
        return longer.compareTo(MAX_POLL) > 0 ? MAX_POLL : longer;
    }

    /** Takes tickets. Returns those that were taken; some may have changed meanwhile. */
    private List<String> take(List<Integer> ranks, List<String> tickets) {
        List<byte[]> found =
                store.multiCompareSet(
                        ranks.stream().map(WorldAgreement::ticketOf).toList(),
                        tickets.stream().map(WorldAgreement::bytes).toList(),
                        tickets.stream().map(ticket -> bytes(TAKEN + ticket)).toList());
        return IntStream.range(0, tickets.size())
                .filter(i -> Arrivals.text(found.get(i)).equals(TAKEN + tickets.get(i)))
                .mapToObj(tickets::get)
                .toList();
    }

    private void answer(List<String> tickets, String answer) {
        store.multiSet(
                tickets.stream().map(WorldAgreement::answerTo).toList(),
                tickets.stream().map(ticket -> bytes(answer)).toList());
    }

    private void close(String ownTicket) {
        put(ticketOf(0), ownTicket);
        if (servesOneWorld) {
            put(OVER, "");
        }
    }

    /** Ranks that wait in a store that is about to close would wait until then. */
    private void rejectWaiting(List<Integer> others) {
        if (servesOneWorld) {
            List<String> waiting =
                    present(others).values().stream().filter(WorldAgreement::waits).toList();
            answer(waiting, RETRY);
        }
    }

    /**
     * Describes the missing ranks. The ranks time out at about the same time, so a rank that has
     * withdrawn its ticket was present and is not missing.
     */
    private String describeMissing() {
        if (rank > 0 && size > MAX_SEARCHED_SIZE) {
            return whatRankZeroSays();
        }
        String found = lookForMissing();
        if (rank == 0) {
            put(WHY, found);
        }
        return found;
    }

    /** Returns the description of rank 0, for worlds in which not every rank searches. */
    private String whatRankZeroSays() {
        String ofRankZero = present(List.of(0)).getOrDefault(0, TAKEN);
        if (ofRankZero.startsWith(TAKEN)) {
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
            if (ticket == null || !waits(ticket)) {
                (WITHDRAWN.equals(ticket) ? gaveUp : absent).add(other);
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
                                                + " arrived, and gave up earlier)");
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
                : "rank 0 did not make the world of "
                        + size
                        + " ranks, though all ranks arrived,"
                        + rest;
    }

    /** Says which absent ranks wait, or waited, for a world of another size. */
    private String inOtherWorlds(List<Integer> absent) {
        SortedMap<Integer, List<Integer>> bySize = new TreeMap<>();
        Arrivals.present(worlds, absent, WorldAgreement::sizeOf)
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
                                .append(" expect a world of ")
                                .append(theirs)
                                .append(" ranks"));
        return found.toString();
    }

    /** Its ticket in a world that was made is an old one. */
    private boolean isWithoutWorld(int other, int theirs) {
        String key = theirs + "/" + ticketOf(other);
        return worlds.check(List.of(key)) && !Arrivals.text(worlds.get(key)).startsWith(TAKEN);
    }

    private static String sizeOf(int rank) {
        return "size/" + rank;
    }

    /** Returns the tickets of ranks. Ranks that never wrote one are not among the keys. */
    private Map<Integer, String> present(List<Integer> ranks) {
        return Arrivals.present(store, ranks, WorldAgreement::ticketOf);
    }

    private OperationTimeoutException missing(StoreTimeoutException cause) {
        return OperationTimeoutException.ofCall(
                context,
                "%s; check that they run and build the same world, with the same number of ranks"
                        .formatted(bounded(this::describeMissing, cause)),
                SilentStore.asCause(cause));
    }

    /** Calls the store with a short time limit, because the timeout has passed. */
    private <T> T bounded(Supplier<T> question, StoreTimeoutException cause) {
        AtomicReference<T> answer = new AtomicReference<>();
        Runnable ask = () -> answer.set(question.get());
        BoundedCall call = BoundedCall.start("jccl-world-" + rank, ask);
        if (!SilentStore.isCauseOf(cause) && call.await(ANSWER_TIMEOUT)) {
            return answer.get();
        }
        throw OperationTimeoutException.ofCall(
                context,
                "the world was not made within %s, and the store does not answer; check %s"
                        .formatted(
                                Durations.text(timeout),
                                servesOneWorld
                                        ? "rank 0, which serves it"
                                        : "the process that serves it"),
                SilentStore.asCause(cause));
    }

    private OperationTimeoutException duplicateRank(StoreTimeoutException cause) {
        return OperationTimeoutException.ofCall(
                context,
                "another process, or another thread of this one, joined the same world as rank %s after this one; give each its own rank"
                        .formatted(rank),
                SilentStore.asCause(cause));
    }

    private Duration left() {
        return left(deadline);
    }

    private static Duration left(Deadline limit) {
        return Duration.ofNanos(Math.max(TimeUnit.MILLISECONDS.toNanos(1), limit.nanosLeft()));
    }

    private void put(String key, String value) {
        store.set(key, bytes(value));
    }

    private String exchange(String key, String expected, String desired) {
        return Arrivals.text(store.compareSet(key, bytes(expected), bytes(desired)));
    }

    /** Returns whether a rank with this ticket waits for an answer. */
    private static boolean waits(String ticket) {
        return !ticket.equals(WITHDRAWN) && !ticket.startsWith(TAKEN);
    }

    private String newTicket() {
        return UUID.randomUUID().toString() + AT + release.version() + AT + LocalHost.name();
    }

    private static String hostIn(String ticket) {
        return ticket.substring(ticket.lastIndexOf(AT) + 1);
    }

    /** Returns an empty text if the rank did not say its version. */
    private static String versionIn(String ticket) {
        int from = ticket.indexOf(AT) + 1;
        return ticket.substring(from, Math.max(from, ticket.lastIndexOf(AT)));
    }

    private static String ticketOf(int rank) {
        return "ticket/" + rank;
    }

    private static String confirmationOf(String ticket, String call) {
        return "confirmed/" + ticket + "/" + call;
    }

    private static String answerTo(String ticket) {
        return "answer/" + ticket;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}

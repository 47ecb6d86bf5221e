package org.jccl.internal.diagnosis;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.MismatchException;
import org.jccl.OperationTimeoutException;
import org.jccl.PeerLeftException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.spi.BoundedCall;

/**
 * How ranks left a group, as they write it in the store. The others read it when an operation is
 * stuck or a connection is lost.
 *
 * <ul>
 *   <li>A rank that closes the group normally, after its last operation and without a failure in
 *       any group of its world, writes so with the number of its collectives, before its
 *       connections end.
 *   <li>A rank whose group failed writes why.
 *   <li>Other processes may have replaced ranks.
 * </ul>
 *
 * <p>Safe for use by several threads.
 */
public final class Departures {

    private static final System.Logger LOGGER = System.getLogger(Departures.class.getName());

    /** One line for each rank that left: the rank and the number of its collectives and splits. */
    private static final String LEFT = "left";

    private static final String COUNTER = "left/ranks";

    /** The key of the first failure of any rank. */
    static final String FIRST_FAILURE = "failure";

    private static final Pattern NUMBER = Pattern.compile("-?\\d{1,9}");
    private static final Pattern LINE = Pattern.compile("(\\d{1,9}) (\\d{1,18})");

    private final Optional<Store> store;
    private final int rank;
    private final int size;
    private final AtomicBoolean worldFailed;
    private final Supplier<IntStream> replaced;

    /**
     * Creates it; nothing is written yet.
     *
     * @param store private to the group; without one nobody learns who left
     * @param rank in the group
     * @param size of the group
     * @param worldFailed whether a group of this world has failed in this process; shared by all of
     *     them, since a program may close one group because another one failed
     * @param replaced asks which ranks were replaced by other processes
     */
    public Departures(
            Optional<Store> store,
            int rank,
            int size,
            AtomicBoolean worldFailed,
            Supplier<IntStream> replaced) {
        this.store = store;
        this.rank = rank;
        this.size = size;
        this.worldFailed = worldFailed;
        this.replaced = replaced;
    }

    /** Of a group that tells nobody. */
    public static Departures none(int rank, int size) {
        return new Departures(Optional.empty(), rank, size, new AtomicBoolean(), IntStream::empty);
    }

    /** Notes that the group has failed, so that closing it, or its relatives, is no departure. */
    void groupFailed() {
        worldFailed.set(true);
    }

    /**
     * Tells the others that this rank has left, unless a group failed. Takes three seconds at most:
     * the store may be gone, or its process stopped.
     */
    void leave(long collectives) {
        if (store.isEmpty() || size == 1 || worldFailed.get()) {
            return;
        }
        try {
            BoundedCall.run(
                    "jccl-leave", () -> write(store.get(), collectives), Diagnosis.CAUSE_TIMEOUT);
        } catch (RuntimeException | Error e) {
            // Others may have ended the job, and the store with it.
            LOGGER.log(
                    System.Logger.Level.DEBUG,
                    "rank {0} could not announce that it closed the group: {1}",
                    rank,
                    e);
        }
    }

    private void write(Store shared, long collectives) {
        shared.append(LEFT, (rank + " " + collectives + "\n").getBytes(UTF_8));
        // The answer also says that the line above has arrived.
        if (shared.add(COUNTER, 1) == size) {
            shared.deleteKey(LEFT);
            shared.deleteKey(COUNTER);
        }
    }

    /** Forgets that a group has failed: the program continues with another one. */
    void replaced() {
        worldFailed.set(false);
    }

    /**
     * Finds a rank without which this one cannot go on.
     *
     * @param asked the store, through a connection of the calling thread
     * @param lost the rank to which a connection was lost, or empty for any rank
     * @param message whether it was lost in a message to or from that rank
     * @param collectives how many this rank has issued in the group
     * @return why this rank cannot go on, or empty when no such rank has left
     * @throws org.jccl.StoreException when the store cannot be reached
     */
    Optional<PeerLeftException> cause(
            Store asked, OptionalInt lost, boolean message, long collectives) {
        if (!asked.check(List.of(LEFT))) {
            return Optional.empty();
        }
        Matcher line = LINE.matcher(new String(asked.get(LEFT), UTF_8));
        while (line.find()) {
            int peer = Integer.parseInt(line.group(1));
            long its = Long.parseLong(line.group(2));
            boolean other = peer == rank || peer >= size || lost.orElse(peer) != peer;
            // It took part in all collectives of this rank: then it is not why one fails.
            if (!other && (its < collectives || message && lost.isPresent())) {
                return Optional.of(left(peer, its, collectives));
            }
        }
        return Optional.empty();
    }

    /**
     * Finds a rank whose process was lost, which its library may not notice.
     *
     * @throws org.jccl.StoreException when the store cannot be reached
     */
    Optional<PeerLostException> lost() {
        OptionalInt peer = replaced.get().filter(each -> each != rank).findFirst();
        return peer.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        new PeerLostException(
                                FailureContext.NONE,
                                "rank %s was lost: another process has taken its place and waits for the next generation; call reconfigure()"
                                        .formatted(peer.getAsInt()),
                                peer.getAsInt()));
    }

    /** Returns the ranks that have left normally. */
    Set<Integer> left(Store asked) {
        Set<Integer> ranks = new HashSet<>();
        if (asked.check(List.of(LEFT))) {
            Matcher line = LINE.matcher(new String(asked.get(LEFT), UTF_8));
            while (line.find()) {
                ranks.add(Integer.parseInt(line.group(1)));
            }
        }
        return ranks;
    }

    private static PeerLeftException left(int peer, long its, long collectives) {
        return new PeerLeftException(
                FailureContext.NONE,
                "rank "
                        + peer
                        + " closed the group after "
                        + its
                        + " collectives"
                        + (its < collectives
                                ? ", and this rank has issued " + collectives
                                : ", and takes no part in this send or receive")
                        + "; all ranks must issue the same operations before they close the group."
                        + " If the log of rank "
                        + peer
                        + " has an exception, that is the cause: try-with-resources closes the"
                        + " group then, too. Where ranks have different numbers of batches, use"
                        + " unevenInputs(true) and join() of the gradient reducer",
                peer);
    }

    /** The key of a rank's own failure. */
    static String failureOf(int rank) {
        return FIRST_FAILURE + "/" + rank;
    }

    /** A failure of this rank as the value of a key. */
    byte[] text(JcclException failure) {
        int peer = -1;
        if (failure instanceof PeerLostException lost) {
            peer = lost.peer().orElse(-1);
        } else if (failure instanceof PeerLeftException left) {
            peer = left.peer();
        }
        String type = failure.getClass().getSimpleName();
        return (rank + "\n" + type + "\n" + peer + "\n" + failure.reason()).getBytes(UTF_8);
    }

    /** The first failure of another rank. */
    Optional<JcclException> firstFailure(Store store) {
        return failureAt(store, FIRST_FAILURE);
    }

    /** What the last rank says that is reached from one by asking each whom it has lost. */
    Optional<JcclException> causeAt(Store store, OptionalInt first) {
        Optional<JcclException> cause = Optional.empty();
        Set<Integer> asked = new HashSet<>(Set.of(rank));
        OptionalInt next = first;
        while (next.isPresent() && asked.add(next.getAsInt())) {
            Optional<JcclException> said = failureAt(store, failureOf(next.getAsInt()));
            if (said.isEmpty()) {
                break;
            }
            cause = said;
            next = said.get() instanceof PeerLostException lost ? lost.peer() : OptionalInt.empty();
        }
        return cause;
    }

    /** The failure that another rank reports under a key, unless it is that it lost this rank. */
    private Optional<JcclException> failureAt(Store store, String key) {
        if (!store.check(List.of(key))) {
            return Optional.empty();
        }
        String[] parts = new String(store.get(key), UTF_8).split("\n", 4);
        if (parts.length < 4
                || !NUMBER.matcher(parts[0]).matches()
                || !NUMBER.matcher(parts[2]).matches()) {
            return Optional.empty(); // not written by a rank of this version
        }
        int peer = Integer.parseInt(parts[2]);
        if (Integer.parseInt(parts[0]) == rank || peer == rank) {
            return Optional.empty();
        }
        String reporter = "rank " + parts[0] + " ";
        // Most reasons begin with the rank that they are about.
        String reason =
                parts[3].startsWith(reporter) ? parts[3] : reporter + "reported: " + parts[3];
        return Optional.of(
                switch (parts[1]) {
                    case "MismatchException" -> new MismatchException(FailureContext.NONE, reason);
                    case "OperationTimeoutException" ->
                            new OperationTimeoutException(FailureContext.NONE, reason);
                    case "GroupAbortedException" ->
                            new GroupAbortedException(FailureContext.NONE, reason);
                    case "PeerLeftException" ->
                            new PeerLeftException(FailureContext.NONE, reason, peer);
                    default -> new PeerLostException(FailureContext.NONE, reason, peer);
                });
    }
}

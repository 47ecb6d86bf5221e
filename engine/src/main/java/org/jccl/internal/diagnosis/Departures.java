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
import org.jccl.PeerLeftException;
import org.jccl.PeerLostException;
import org.jccl.Store;
import org.jccl.spi.BoundedCall;

/**
 * Ranks that closed a group normally: after their last operation, without a failure in any group of
 * their world. Each writes so, with the number of its collectives, before its connections end. The
 * others find it when an operation is stuck or a connection is lost. Also ranks that other
 * processes have replaced.
 */
public final class Departures {

    private static final System.Logger LOGGER = System.getLogger(Departures.class.getName());

    /** One line for each rank that left: the rank and the number of its collectives. */
    private static final String LEFT = "left";

    private static final String COUNTER = "left/ranks";
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
            LOGGER.log(System.Logger.Level.DEBUG, "rank {0} leaves unheard: {1}", rank, e);
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
     * Finds a rank without which this one can not go on.
     *
     * @param asked the store, through a connection of the calling thread
     * @param lost the rank to which a connection was lost, or empty for any rank
     * @param message whether it was lost in a message to or from that rank
     * @param collectives how many this rank has issued in the group
     * @return why this rank can not go on, or empty when no such rank has left
     * @throws org.jccl.StoreException when the store can not be reached
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
     * @throws org.jccl.StoreException when the store can not be reached
     */
    Optional<PeerLostException> lost() {
        OptionalInt peer = replaced.get().filter(each -> each != rank).findFirst();
        return peer.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        new PeerLostException(
                                FailureContext.NONE,
                                "rank %s was lost: another process has come in its place and waits for the next generation; reconfigure"
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
                        + " closed the group normally after "
                        + its
                        + " collectives"
                        + (its < collectives
                                ? ", and this rank has issued " + collectives
                                : ", and takes no part in this message")
                        + "; all ranks must issue the same operations before they close the group."
                        + " Where ranks have different numbers of batches, use unevenInputs(true)"
                        + " and join() of the gradient reducer; otherwise see in the log of rank "
                        + peer
                        + " why its program ended early",
                peer);
    }
}

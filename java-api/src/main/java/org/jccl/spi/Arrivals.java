package org.jccl.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jccl.BootstrapException;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.OperationTimeoutException;
import org.jccl.Store;
import org.jccl.StoreTimeoutException;

/**
 * The rendezvous of a group's ranks in a store. Each rank writes a value under its own key. A rank
 * that times out lists the ranks that did not arrive. Thread-safe.
 */
public final class Arrivals {

    private static final int MAX_SHOWN = 40;

    /** A run of more than this many ranks is shown as first and last. */
    private static final int MIN_RUN = 4;

    /** After this many ranks and runs, the others are only counted. */
    private static final int MAX_RUNS = 32;

    /** The time that a rank waits for the store when the exchange has failed or is over. */
    private static final Duration GRACE_PERIOD = Duration.ofSeconds(2);

    /**
     * The time by which a rank may give up before others. Ranks start to wait at about the same
     * time.
     */
    private static final Duration GIVING_UP_TIME = Duration.ofSeconds(1);

    /** The time that a store may take to answer after the wait. */
    private static final Duration STORE_GRACE = Duration.ofSeconds(10);

    private static final Duration CHECK_INTERVAL = Duration.ofMillis(100);

    /** Replaces the first length if a rank stopped waiting. */
    private static final int STOPPED = -1;

    private static final String SILENT =
            "the store does not answer, so the missing ranks are unknown";

    private final Store store;
    private final int size;
    private final IntFunction<String> key;

    /**
     * Creates a rendezvous; nothing is written yet.
     *
     * @param store a store that all ranks of the group reach
     * @param size number of ranks
     * @param key returns the key of a rank's value; the same on every rank, and used by no other
     *     rendezvous
     */
    public Arrivals(Store store, int size, IntFunction<String> key) {
        this.store = store;
        this.size = size;
        this.key = key;
    }

    /**
     * Reports that a rank has arrived.
     *
     * @param rank the rank
     * @param value the value for the other ranks
     * @throws org.jccl.StoreException if the store cannot be reached
     */
    public void arrive(int rank, byte[] value) {
        store.set(key.apply(rank), value);
    }

    /**
     * Writes the value of this rank and waits for the values of all others. Rank 0 reads all values
     * and writes them under one key, so that the other ranks read one key each: a store cannot
     * serve thousands of keys to each of thousands of ranks. All values together must fit into one
     * value of a store, 8 MiB.
     *
     * @param rank this rank
     * @param value the value of this rank
     * @param within the maximum time to wait
     * @param what the purpose of the wait, for messages, for instance {@code gloo}
     * @param timeout the user's timeout for the whole operation, for messages
     * @return the values, by rank
     * @throws OperationTimeoutException if a rank does not arrive in time, or another rank stopped
     *     waiting before; the message lists the missing ranks. Every rank that arrives later throws
     *     it too
     * @throws BootstrapException if the value in the store is not one that rank 0 wrote
     * @throws org.jccl.StoreException if the store cannot be reached
     */
    public List<byte[]> exchange(
            int rank, byte[] value, Duration within, String what, Duration timeout) {
        arrive(rank, value);
        return logMissing(rank, what, () -> exchange(rank, within, what, timeout));
    }

    /**
     * Writes the value of this rank and waits for the values of all others, as {@link
     * #exchange(int, byte[], Duration, String, Duration)} does, and checks at intervals whether to
     * continue.
     *
     * @param rank this rank
     * @param value the value of this rank
     * @param within the maximum time to wait
     * @param what the purpose of the wait, for messages, for instance {@code split}
     * @param check called ten times a second; ends the wait by throwing an exception
     * @return the values, by rank
     * @throws OperationTimeoutException if a rank does not arrive in time, another rank stopped
     *     waiting before, or the store does not answer
     * @throws BootstrapException if the value in the store is not one that rank 0 wrote
     * @throws org.jccl.StoreException if the store cannot be reached
     */
    public List<byte[]> exchange(
            int rank, byte[] value, Duration within, String what, Runnable check) {
        AtomicReference<List<byte[]>> values = new AtomicReference<>();
        Runnable waiting =
                () -> {
                    arrive(rank, value);
                    values.set(exchange(rank, within, what, within));
                };
        return logMissing(
                rank,
                what,
                () -> {
                    BoundedCall call = BoundedCall.start("jccl-exchange-" + what, waiting);
                    if (!call.await(within.plus(STORE_GRACE), CHECK_INTERVAL, check)) {
                        throw OperationTimeoutException.ofCall(
                                FailureContext.NONE, what + ": " + SILENT, null);
                    }
                    return values.get();
                });
    }

    /** Logs which ranks have not arrived while this rank waits for them. */
    <T> T logMissing(int rank, String what, Supplier<T> wait) {
        return WaitLog.during(what + ", rank " + rank, rank, size, this::here, wait);
    }

    private SortedMap<Integer, String> here(List<Integer> ranks) {
        SortedMap<Integer, String> here = new TreeMap<>();
        ranks.forEach(rank -> here.put(rank, ""));
        missing(store, ranks, key).forEach(here::remove);
        return here;
    }

    private List<byte[]> exchange(int rank, Duration within, String what, Duration timeout) {
        if (rank == 0) {
            List<byte[]> values =
                    await(
                            everybody(),
                            within,
                            what,
                            timeout,
                            (absent, late) -> stop(encodeStopped(0, absent), late));
            byte[] all = encode(values);
            requireNotStopped(store.compareSet(everything(), new byte[0], all), what);
            return values;
        }
        try {
            store.await(List.of(everything()), within);
        } catch (StoreTimeoutException e) {
            String absent = absent(everybody(), e);
            String why =
                    absent.equals(allArrived())
                            ? absent + ", but rank 0 did not pass on their values"
                            : absent;
            byte[] decided = stop(encodeStopped(rank, why), e);
            if (stopped(decided).isPresent()) {
                throw late(why, what, timeout, e);
            }
            return decoded(decided);
        }
        byte[] all = store.get(everything());
        requireNotStopped(all, what);
        return decoded(all);
    }

    /**
     * Ends the exchange with a failure for all ranks, unless rank 0 has just ended it with values.
     * Without this, a rank that arrives later would start an operation that the others never join.
     *
     * @return the value that applies to all ranks
     */
    private byte[] stop(byte[] stopped, StoreTimeoutException late) {
        AtomicReference<byte[]> decided = new AtomicReference<>(stopped);
        Runnable decide = () -> decided.set(store.compareSet(everything(), new byte[0], stopped));
        CleanUp.run(
                "reporting that a rank stopped waiting",
                () -> {
                    BoundedCall call = BoundedCall.start("jccl-waits-no-longer", decide);
                    // A store that answers again may still notify ranks that arrive later.
                    if (!SilentStore.isCauseOf(late)) {
                        call.await(GRACE_PERIOD);
                    }
                });
        return decided.get();
    }

    private static void requireNotStopped(byte[] all, String what) {
        stopped(all)
                .ifPresent(
                        why -> {
                            throw OperationTimeoutException.ofCall(
                                    FailureContext.NONE,
                                    what
                                            + ": "
                                            + why
                                            + "; check that all ranks run and make the same group",
                                    null);
                        });
    }

    private List<byte[]> decoded(byte[] all) {
        return decode(all, size)
                .orElseThrow(
                        () ->
                                corrupt(
                                        everything(),
                                        text(all),
                                        "of rank 0 instead of the values of " + size + " ranks"));
    }

    // The one value that ends an exchange for all ranks: either what every rank wrote, or the
    // reason why one rank stopped waiting.

    private static byte[] encode(List<byte[]> values) {
        int length = values.stream().mapToInt(value -> Integer.BYTES + value.length).sum();
        ByteBuffer all = ByteBuffer.allocate(length);
        values.forEach(value -> all.putInt(value.length).put(value));
        return all.array();
    }

    private static byte[] encodeStopped(int rank, String why) {
        byte[] text = ("rank " + rank + " stopped waiting: " + why).getBytes(UTF_8);
        return ByteBuffer.allocate(Integer.BYTES + text.length).putInt(STOPPED).put(text).array();
    }

    /**
     * Returns why a rank stopped waiting, or empty if the value contains the values of all ranks.
     */
    private static Optional<String> stopped(byte[] all) {
        return all.length >= Integer.BYTES && ByteBuffer.wrap(all).getInt() == STOPPED
                ? Optional.of(new String(all, Integer.BYTES, all.length - Integer.BYTES, UTF_8))
                : Optional.empty();
    }

    /**
     * Returns the value of each rank, or empty if the bytes are not the values of that many ranks.
     */
    private static Optional<List<byte[]>> decode(byte[] all, int size) {
        ByteBuffer in = ByteBuffer.wrap(all);
        List<byte[]> values = new ArrayList<>(size);
        while (in.remaining() >= Integer.BYTES) {
            int length = in.getInt();
            if (length < 0 || length > in.remaining()) {
                break;
            }
            byte[] value = new byte[length];
            in.get(value);
            values.add(value);
        }
        return values.size() == size && !in.hasRemaining() ? Optional.of(values) : Optional.empty();
    }

    /** Returns the key under which rank 0 writes all values. */
    private String everything() {
        return key.apply(0) + "/all";
    }

    private List<Integer> everybody() {
        return IntStream.range(0, size).boxed().toList();
    }

    /**
     * Waits for all ranks.
     *
     * @param within the maximum time to wait
     * @param what the purpose of the wait, for messages, for instance {@code gloo}
     * @param timeout the user's timeout for the whole operation, for messages
     * @return the values, by rank
     * @throws OperationTimeoutException if a rank does not arrive in time; the message lists the
     *     missing ranks
     * @throws org.jccl.StoreException if the store cannot be reached
     */
    public List<byte[]> await(Duration within, String what, Duration timeout) {
        return await(everybody(), within, what, timeout);
    }

    /**
     * Waits for some of the ranks.
     *
     * @param ranks the ranks
     * @param within the maximum time to wait
     * @param what the purpose of the wait, for messages, for instance {@code gloo}
     * @param timeout the user's timeout for the whole operation, for messages
     * @return their values, in the order of the ranks
     * @throws OperationTimeoutException if a rank does not arrive in time; the message lists the
     *     missing ranks
     * @throws org.jccl.StoreException if the store cannot be reached
     */
    public List<byte[]> await(List<Integer> ranks, Duration within, String what, Duration timeout) {
        return await(ranks, within, what, timeout, (absent, late) -> {});
    }

    private List<byte[]> await(
            List<Integer> ranks,
            Duration within,
            String what,
            Duration timeout,
            BiConsumer<String, StoreTimeoutException> givingUp) {
        List<String> keys = ranks.stream().map(key::apply).toList();
        try {
            store.await(keys, within);
        } catch (StoreTimeoutException e) {
            String absent = absent(ranks, e);
            givingUp.accept(absent, e);
            throw late(absent, what, timeout, e);
        }
        return store.multiGet(keys);
    }

    private static OperationTimeoutException late(
            String absent, String what, Duration timeout, StoreTimeoutException cause) {
        return OperationTimeoutException.ofCall(
                FailureContext.NONE,
                what
                        + ": not all ranks arrived within "
                        + Durations.rounded(timeout)
                        + ": "
                        + absent
                        + "; check that they run and make the same group",
                SilentStore.asCause(cause));
    }

    /**
     * Reports that this rank gives up, and returns which ranks it waited for. Such a rank has not
     * arrived, or it has arrived and does not give up as the others do, because it is lost. Takes
     * at most two seconds.
     *
     * @param rank this rank
     * @return for instance {@code ranks [1, 3] of 4 have not arrived}, or {@code all 4 ranks have
     *     arrived, and all except ranks [2] have given up}
     */
    public String giveUp(int rank) {
        return withinGracePeriod(
                () -> {
                    store.set(gaveUpKey(rank), new byte[0]);
                    List<Integer> missing = missing(store, everybody(), key);
                    return missing.isEmpty() ? awaitOthersGivingUp() : describe(missing);
                });
    }

    /** Same as {@link #giveUp(int)}, but sends no request to a store that did not answer. */
    String giveUp(int rank, OperationTimeoutException late) {
        return SilentStore.isCauseOf(late) ? SILENT : giveUp(rank);
    }

    private String awaitOthersGivingUp() {
        List<Integer> silent = List.of();
        try {
            store.await(everybody().stream().map(this::gaveUpKey).toList(), GIVING_UP_TIME);
        } catch (StoreTimeoutException e) {
            silent = missing(store, everybody(), this::gaveUpKey); // none if the last was late
        }
        return "all %s ranks have arrived, and %shave given up"
                .formatted(size, silent.isEmpty() ? "" : "all except ranks " + ranks(silent) + " ");
    }

    private String gaveUpKey(int rank) {
        return key.apply(rank) + "/gave-up";
    }

    /** Lists those of some ranks that have not arrived. */
    private String absent(List<Integer> ranks, StoreTimeoutException late) {
        return SilentStore.isCauseOf(late)
                ? SILENT
                : withinGracePeriod(() -> describe(missing(store, ranks, key)));
    }

    private String describe(List<Integer> missing) {
        return missing.isEmpty()
                ? allArrived()
                : "ranks " + ranks(missing) + " of " + size + " have not arrived";
    }

    private String allArrived() {
        return "all " + size + " ranks have arrived by now";
    }

    /**
     * Runs the explanation of a failed wait with a short time limit, because the wait took too long
     * already.
     */
    private static String withinGracePeriod(Supplier<String> explanation) {
        AtomicReference<String> found = new AtomicReference<>();
        try {
            if (BoundedCall.run(
                    "jccl-absent-ranks", () -> found.set(explanation.get()), GRACE_PERIOD)) {
                return found.get();
            }
        } catch (JcclException e) {
            CleanUp.log("looking for missing ranks", e);
        }
        return SILENT;
    }

    /**
     * Finds the ranks that have no key, by bisection: a few missing ranks among thousands take few
     * requests.
     *
     * @param store the store with the keys
     * @param ranks the ranks to look for, in their order
     * @param key returns the key of a rank
     * @return the ranks whose key does not exist, in the same order
     */
    public static List<Integer> missing(Store store, List<Integer> ranks, IntFunction<String> key) {
        if (ranks.isEmpty() || store.check(ranks.stream().map(key::apply).toList())) {
            return List.of();
        }
        if (ranks.size() == 1) {
            return ranks;
        }
        int half = ranks.size() / 2;
        List<Integer> missing = new ArrayList<>(missing(store, ranks.subList(0, half), key));
        missing.addAll(missing(store, ranks.subList(half, ranks.size()), key));
        return missing;
    }

    /**
     * Reads the values of ranks.
     *
     * @param store the store with the keys
     * @param ranks the ranks to look for, in their order
     * @param key returns the key of a rank
     * @return the values of the ranks whose key exists, as text
     */
    public static SortedMap<Integer, String> present(
            Store store, List<Integer> ranks, IntFunction<String> key) {
        List<Integer> came = new ArrayList<>(ranks);
        came.removeAll(new HashSet<>(missing(store, ranks, key)));
        SortedMap<Integer, String> found = new TreeMap<>();
        if (!came.isEmpty()) {
            List<byte[]> values = store.multiGet(came.stream().map(key::apply).toList());
            for (int i = 0; i < came.size(); i++) {
                found.put(came.get(i), text(values.get(i)));
            }
        }
        return found;
    }

    /**
     * Describes ranks. The text stays short even for thousands.
     *
     * @param ranks in ascending order
     * @return for instance {@code [1, 3, 8-4095]}; after 32 ranks and runs, the number of the rest
     */
    public static String ranks(List<Integer> ranks) {
        List<String> words = new ArrayList<>();
        for (int first = 0; first < ranks.size(); ) {
            if (words.size() == MAX_RUNS) {
                words.add("and " + (ranks.size() - first) + " more");
                break;
            }
            int last = first;
            while (last + 1 < ranks.size() && ranks.get(last + 1) == ranks.get(last) + 1) {
                last++;
            }
            if (last - first < MIN_RUN) {
                last = first;
                words.add(ranks.get(first).toString());
            } else {
                words.add(ranks.get(first) + "-" + ranks.get(last));
            }
            first = last + 1;
        }
        return words.toString();
    }

    /**
     * Reports that a rank has read the values that it needs. The last rank deletes all keys of the
     * rendezvous. If a rank never calls this, the keys remain. Takes at most two seconds. Does not
     * fail, because the rendezvous itself has succeeded.
     *
     * @param counter the key of the number of ranks that have left
     * @param others further keys to be deleted
     */
    public void leave(String counter, List<String> others) {
        Runnable leave =
                () -> {
                    if (store.add(counter, 1) == size) {
                        IntStream.range(0, size).mapToObj(key).forEach(store::deleteKey);
                        store.deleteKey(everything());
                        others.forEach(store::deleteKey);
                        store.deleteKey(counter);
                    }
                };
        CleanUp.run(
                "deleting the keys of a completed rendezvous",
                () -> BoundedCall.run("jccl-leave-meeting", leave, GRACE_PERIOD));
    }

    /**
     * Parses a number that a rank wrote.
     *
     * @param rank the rank
     * @param text its value, or a part of it
     * @param least the smallest valid number
     * @param most the largest
     * @return the number
     * @throws BootstrapException if it is not a number or out of range; the message names the key
     *     and the rank
     */
    public int number(int rank, String text, int least, int most) {
        try {
            int number = Integer.parseInt(text);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Reported below, like a number out of range.
        }
        throw corrupt(rank, text, "a number from " + least + " to " + most);
    }

    /**
     * Describes a value of a rank that cannot be read.
     *
     * @param rank the rank
     * @param said its value
     * @param wanted what was expected
     * @return the exception, whose message names the key and the rank
     */
    public BootstrapException corrupt(int rank, String said, String wanted) {
        return corrupt(key.apply(rank), said, "of rank " + rank + " instead of " + wanted);
    }

    private static BootstrapException corrupt(String key, String said, String instead) {
        String begin = said.length() > MAX_SHOWN ? said.substring(0, MAX_SHOWN) + "..." : said;
        return new BootstrapException(
                FailureContext.NONE,
                "the store has \""
                        + begin
                        + "\" under the key "
                        + key
                        + " "
                        + instead
                        + "; is the store used by another job, or another version of this library?");
    }

    /**
     * Returns a value as text.
     *
     * @param value the value of a key
     * @return the text
     */
    public static String text(byte[] value) {
        return new String(value, UTF_8);
    }
}

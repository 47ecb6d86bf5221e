package org.jccl.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
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
 * How the ranks of a group meet in a store: each puts a value down under a key of its own, and
 * whoever waits for the others in vain can say which of them have not come. Safe for use by several
 * threads.
 */
public final class Arrivals {

    private static final int MOST_SHOWN = 40;

    /** In the place of a length, where a rank has given up waiting for what all said. */
    private static final int GOODBYE = -1;

    /** Beyond this many ranks in a row, the first and the last say as much. */
    private static final int LEAST_RUN = 4;

    /** Beyond this many ranks and runs, the rest is counted. */
    private static final int MOST_RUNS = 32;

    private static final String SILENT =
            "the store does not answer, so nobody knows which have not come";

    private static final Duration LOOK_PATIENCE = Duration.ofSeconds(2);

    /**
     * How much sooner than others a rank may give up; ranks begin to wait at about the same time.
     */
    private static final Duration GIVING_UP_PATIENCE = Duration.ofSeconds(1);

    private final Store store;
    private final int size;
    private final IntFunction<String> key;

    /**
     * Creates a meeting; nothing is written yet.
     *
     * @param store that all ranks of the group reach
     * @param size number of ranks
     * @param key of a rank's value, the same on every rank, and no other meeting's
     */
    public Arrivals(Store store, int size, IntFunction<String> key) {
        this.store = store;
        this.size = size;
        this.key = key;
    }

    /**
     * Says that a rank has come.
     *
     * @param rank which
     * @param value what the others are to know of it
     * @throws org.jccl.StoreException when the store can not be reached
     */
    public void arrive(int rank, byte[] value) {
        store.set(key.apply(rank), value);
    }

    /**
     * Says what this rank has to say, and waits for what all others say. Rank 0 reads what each has
     * said and puts it down in one piece, so a rank asks for one key and not for one of every rank:
     * thousands of ranks that all ask for thousands of keys are more than a store can bear. What a
     * group says must fit into one value of a store, 8 MiB.
     *
     * @param rank this one
     * @param value what it has to say
     * @param within how long at most
     * @param what is being done, for messages, for instance {@code gloo}
     * @param timeout that the user gave for all of it, for messages
     * @return what each said, by rank
     * @throws OperationTimeoutException when not all come in time, or a rank has waited no longer
     *     before; names those who had not come. Then all ranks that come later throw it too
     * @throws BootstrapException when the store has something else than rank 0 put down
     * @throws org.jccl.StoreException when the store can not be reached
     */
    public List<byte[]> exchange(
            int rank, byte[] value, Duration within, String what, Duration timeout) {
        arrive(rank, value);
        return logMissing(rank, what, () -> exchange(rank, within, what, timeout));
    }

    /** Logs which ranks have not come, while this rank waits for them. */
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
            List<byte[]> values = await(within, what, timeout);
            byte[] all = joined(values);
            byte[] decided = store.compareSet(everything(), new byte[0], all);
            requireAwaited(decided, what);
            return values;
        }
        try {
            store.await(List.of(everything()), within);
        } catch (StoreTimeoutException e) {
            String absent = absent(everybody(), e);
            String why =
                    absent.equals(allHere())
                            ? absent + ", but rank 0 has not passed on what they said"
                            : absent;
            byte[] decided = decided(goodbye(rank, why), e);
            if (isGoodbye(decided)) {
                throw late(why, what, timeout, e);
            }
            return divided(decided);
        }
        byte[] all = store.get(everything());
        requireAwaited(all, what);
        return divided(all);
    }

    /**
     * Has the meeting fail, unless rank 0 is just in time: a rank that comes later, and finds that
     * all have come, would do with the others what nobody can end.
     *
     * @return what holds for all ranks
     */
    private byte[] decided(byte[] goodbye, StoreTimeoutException late) {
        AtomicReference<byte[]> decided = new AtomicReference<>(goodbye);
        Runnable decide = () -> decided.set(store.compareSet(everything(), new byte[0], goodbye));
        CleanUp.run(
                "saying that a rank waits no longer",
                () -> {
                    BoundedCall call = BoundedCall.start("jccl-waits-no-longer", decide);
                    // A store that answers again may still tell those that come later.
                    if (!SilentStore.isCauseOf(late)) {
                        call.await(LOOK_PATIENCE);
                    }
                });
        return decided.get();
    }

    private static byte[] goodbye(int rank, String why) {
        byte[] text = ("rank " + rank + " waits no longer: " + why).getBytes(UTF_8);
        return ByteBuffer.allocate(Integer.BYTES + text.length).putInt(GOODBYE).put(text).array();
    }

    private static boolean isGoodbye(byte[] all) {
        return all.length >= Integer.BYTES && ByteBuffer.wrap(all).getInt() == GOODBYE;
    }

    private static void requireAwaited(byte[] all, String what) {
        if (isGoodbye(all)) {
            String why = new String(all, Integer.BYTES, all.length - Integer.BYTES, UTF_8);
            throw new OperationTimeoutException(
                    FailureContext.NONE,
                    what + ": " + why + "; see whether all ranks run and make the same group");
        }
    }

    /** Under which key rank 0 puts what all have said. */
    private String everything() {
        return key.apply(0) + "/all";
    }

    private static byte[] joined(List<byte[]> values) {
        int length = values.stream().mapToInt(value -> Integer.BYTES + value.length).sum();
        ByteBuffer all = ByteBuffer.allocate(length);
        values.forEach(value -> all.putInt(value.length).put(value));
        return all.array();
    }

    private List<byte[]> divided(byte[] all) {
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
        if (values.size() != size || in.hasRemaining()) {
            throw corrupt(
                    everything(), text(all), "of rank 0 instead of what " + size + " ranks said");
        }
        return values;
    }

    private List<Integer> everybody() {
        return IntStream.range(0, size).boxed().toList();
    }

    /**
     * Waits for all ranks.
     *
     * @param within how long at most
     * @param what is being done, for messages, for instance {@code gloo}
     * @param timeout that the user gave for all of it, for messages
     * @return what each said, by rank
     * @throws OperationTimeoutException when not all come in time; names those who did not
     * @throws org.jccl.StoreException when the store can not be reached
     */
    public List<byte[]> await(Duration within, String what, Duration timeout) {
        return await(everybody(), within, what, timeout);
    }

    /**
     * Waits for some of the ranks.
     *
     * @param ranks which
     * @param within how long at most
     * @param what is being done, for messages, for instance {@code gloo}
     * @param timeout that the user gave for all of it, for messages
     * @return what each of them said, in their order
     * @throws OperationTimeoutException when not all come in time; names those who did not
     * @throws org.jccl.StoreException when the store can not be reached
     */
    public List<byte[]> await(List<Integer> ranks, Duration within, String what, Duration timeout) {
        List<String> keys = ranks.stream().map(key::apply).toList();
        try {
            store.await(keys, within);
        } catch (StoreTimeoutException e) {
            throw late(absent(ranks, e), what, timeout, e);
        }
        return store.multiGet(keys);
    }

    private static OperationTimeoutException late(
            String absent, String what, Duration timeout, StoreTimeoutException cause) {
        return new OperationTimeoutException(
                FailureContext.NONE,
                what
                        + ": not all ranks came within "
                        + Durations.text(timeout)
                        + ": "
                        + absent
                        + "; see whether they run and make the same group",
                cause);
    }

    /**
     * Says that this rank waits no longer, and finds out who kept it waiting: a rank that has not
     * come, or one that has and does not give up as the others do, since it was lost. Takes two
     * seconds at most: it only explains what took too long already.
     *
     * @param rank this one
     * @return for instance {@code ranks [1, 3] of 4 have not come}, or {@code all 4 have come, and
     *     all but ranks [2] have given up}
     */
    public String giveUp(int rank) {
        return explained(
                () -> {
                    store.set(gaveUp(rank), new byte[0]);
                    List<Integer> away = missing(store, everybody(), key);
                    return away.isEmpty() ? awaitOthersGivingUp() : notHere(away);
                });
    }

    /** Like {@link #giveUp(int)}, but asks nothing of a store that did not answer. */
    String giveUp(int rank, OperationTimeoutException late) {
        return SilentStore.isCauseOf(late) ? SILENT : giveUp(rank);
    }

    private String awaitOthersGivingUp() {
        List<Integer> silent = List.of();
        try {
            store.await(everybody().stream().map(this::gaveUp).toList(), GIVING_UP_PATIENCE);
        } catch (StoreTimeoutException e) {
            silent = missing(store, everybody(), this::gaveUp); // nobody, if the last was just late
        }
        return "all "
                + size
                + " have come, and "
                + (silent.isEmpty() ? "have" : "all but ranks " + ranks(silent) + " have")
                + " given up";
    }

    private String gaveUp(int rank) {
        return key.apply(rank) + "/gave-up";
    }

    private String allHere() {
        return "all " + size + " have come by now";
    }

    /** Which of some have not come, in words; takes as long as {@link #giveUp} at most. */
    private String absent(List<Integer> ranks, StoreTimeoutException late) {
        if (SilentStore.isCauseOf(late)) {
            return SILENT;
        }
        return explained(
                () -> {
                    List<Integer> away = missing(store, ranks, key);
                    return away.isEmpty() ? allHere() : notHere(away);
                });
    }

    private String notHere(List<Integer> away) {
        return "ranks " + ranks(away) + " of " + size + " have not come";
    }

    private static String explained(Supplier<String> explanation) {
        AtomicReference<String> found = new AtomicReference<>();
        Runnable look = () -> found.set(explanation.get());
        try {
            if (BoundedCall.run("jccl-absent-ranks", look, LOOK_PATIENCE)) {
                return found.get();
            }
        } catch (JcclException e) {
            CleanUp.failed("looking for ranks that have not come", e);
        }
        return SILENT;
    }

    /**
     * Finds the ranks that have no key. Asks for many at once and looks closer only where one is
     * missing, so few that are missing among thousands take few requests.
     *
     * @param store that has the keys
     * @param ranks to look for, in their order
     * @param key of each
     * @return those whose key does not exist, in the same order
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
     * Ranks in words that stay short when there are thousands.
     *
     * @param ranks in ascending order
     * @return for instance {@code [1, 3, 8-4095]}; after 32 ranks and runs, the number of the rest
     */
    public static String ranks(List<Integer> ranks) {
        List<String> words = new ArrayList<>();
        for (int first = 0; first < ranks.size(); ) {
            if (words.size() == MOST_RUNS) {
                words.add("and " + (ranks.size() - first) + " more");
                break;
            }
            int last = first;
            while (last + 1 < ranks.size() && ranks.get(last + 1) == ranks.get(last) + 1) {
                last++;
            }
            if (last - first < LEAST_RUN) {
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
     * Says that a rank has read what it came for. The last one deletes what lies there, as nobody
     * reads it any more; when a rank never does, all of it stays. Takes two seconds at most, and
     * does not fail: what was met for is done.
     *
     * @param counter key of the number of those that have left
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
                "keys of ranks that have met",
                () -> BoundedCall.run("jccl-leave-meeting", leave, LOOK_PATIENCE));
    }

    /**
     * Reads a number that a rank said.
     *
     * @param rank which
     * @param text what it said, or a part of it
     * @param least the least that it can be
     * @param most the most
     * @return the number
     * @throws BootstrapException when it is none, or outside; names the key and the rank
     */
    public int number(int rank, String text, int least, int most) {
        try {
            int number = Integer.parseInt(text);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException e) {
            // As one that is outside.
        }
        throw corrupt(rank, text, "a number from " + least + " to " + most);
    }

    /**
     * The failure of reading what a rank said.
     *
     * @param rank which
     * @param said what it said
     * @param wanted what it should have been
     * @return the exception; names the key and the rank
     */
    public BootstrapException corrupt(int rank, String said, String wanted) {
        return corrupt(key.apply(rank), said, "of rank " + rank + " instead of " + wanted);
    }

    private static BootstrapException corrupt(String key, String said, String instead) {
        String begin = said.length() > MOST_SHOWN ? said.substring(0, MOST_SHOWN) + "..." : said;
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
     * A value as text.
     *
     * @param value of a key
     * @return the text
     */
    public static String text(byte[] value) {
        return new String(value, UTF_8);
    }
}

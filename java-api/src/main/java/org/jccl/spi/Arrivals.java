package org.jccl.spi;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.IntFunction;
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
    private static final Duration LOOK_PATIENCE = Duration.ofSeconds(2);

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
        return await(IntStream.range(0, size).boxed().toList(), within, what, timeout);
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
            throw new OperationTimeoutException(
                    FailureContext.NONE,
                    what
                            + ": not all ranks came within "
                            + Durations.text(timeout)
                            + ": "
                            + absent(ranks)
                            + "; see whether they run and make the same group",
                    e);
        }
        return store.multiGet(keys);
    }

    /**
     * Who has not come, in words. Takes two seconds at most: it only explains what took too long
     * already.
     *
     * @return for instance {@code ranks [1, 3] of 4 have not come}
     */
    public String absent() {
        return absent(IntStream.range(0, size).boxed().toList());
    }

    private String absent(List<Integer> ranks) {
        List<Integer> absent = new CopyOnWriteArrayList<>();
        Runnable look =
                () ->
                        ranks.stream()
                                .filter(rank -> !store.check(List.of(key.apply(rank))))
                                .forEach(absent::add);
        try {
            if (BoundedCall.run("jccl-absent-ranks", look, LOOK_PATIENCE)) {
                return absent.isEmpty()
                        ? "all " + size + " have come by now"
                        : "ranks " + absent + " of " + size + " have not come";
            }
        } catch (JcclException e) {
            CleanUp.failed("looking for ranks that have not come", e);
        }
        return "the store does not answer, so nobody knows which have not come";
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
        String begin = said.length() > MOST_SHOWN ? said.substring(0, MOST_SHOWN) + "..." : said;
        return new BootstrapException(
                FailureContext.NONE,
                "the store has \""
                        + begin
                        + "\" under the key "
                        + key.apply(rank)
                        + " of rank "
                        + rank
                        + " instead of "
                        + wanted
                        + "; is the store used by another job, or another version of this library?");
    }

    /**
     * A value as text.
     *
     * @param value of a key
     * @return the text
     */
    public static String text(byte[] value) {
        return new String(value, StandardCharsets.UTF_8);
    }
}

package org.jccl;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A key-value store that all ranks of a job can reach. Ranks use it to exchange addresses and
 * unique ids, never for bulk data.
 *
 * <p>Keys are text, values are bytes. All implementations are safe for use by several threads; a
 * call that blocks in one thread does not keep other threads from their own calls. Methods without
 * a timeout use {@link #timeout()}.
 *
 * <p>Every method throws {@link StoreException} when the store can not be reached and {@link
 * UsageException} when an argument is null or outside its range.
 */
public interface Store extends AutoCloseable {

    /**
     * Sets a key, replacing what was there.
     *
     * @param key the key
     * @param value the value; copied before the call returns
     */
    void set(String key, byte[] value);

    /**
     * Waits until a key exists and returns its value.
     *
     * @param key the key
     * @return the value
     * @throws StoreTimeoutException when the key does not appear in time
     */
    byte[] get(String key);

    /**
     * Adds to a counter, creating it at 0. The value is kept as decimal ASCII, as PyTorch keeps it.
     *
     * @param key the key
     * @param delta what to add, may be negative
     * @return the sum
     */
    long add(String key, long delta);

    /**
     * Whether all keys exist now.
     *
     * @param keys the keys
     * @return true when each of them exists
     */
    boolean check(List<String> keys);

    /**
     * Deletes a key.
     *
     * @param key the key
     * @return whether it existed
     */
    boolean deleteKey(String key);

    /**
     * Number of keys in the whole store, those of other prefixes and internal ones included.
     *
     * @return the number of keys
     */
    long keyCount();

    /**
     * Replaces a value if it is the expected one, atomically. An empty {@code expected} stands for
     * "does not exist".
     *
     * @param key the key
     * @param expected the value that must be there, or empty for a missing key
     * @param desired the value to store then
     * @return the value after the call; {@code expected} itself when the key is missing and {@code
     *     expected} is not empty, although nothing is stored (as in PyTorch)
     */
    byte[] compareSet(String key, byte[] expected, byte[] desired);

    /**
     * Replaces several values, each as {@link #compareSet} does: one after the other, and another
     * client may come in between. Over TCP the requests are sent together, which takes hardly
     * longer than one.
     *
     * @param keys the keys
     * @param expected for each what must be there, or empty for a missing key
     * @param desired for each the value to store then
     * @return for each the value after its turn
     */
    default List<byte[]> multiCompareSet(
            List<String> keys, List<byte[]> expected, List<byte[]> desired) {
        if (keys == null
                || expected == null
                || desired == null
                || keys.size() != expected.size()
                || keys.size() != desired.size()) {
            throw new UsageException(
                    FailureContext.NONE,
                    "multiCompareSet: pass as many expected and desired values as keys, and no"
                            + " null");
        }
        List<byte[]> values = new ArrayList<>(keys.size());
        for (int i = 0; i < keys.size(); i++) {
            values.add(compareSet(keys.get(i), expected.get(i), desired.get(i)));
        }
        return values;
    }

    /**
     * Waits until all keys exist, within {@link #timeout()}.
     *
     * @param keys the keys
     * @throws StoreTimeoutException when one of them does not appear in time; the message names
     *     those that are missing
     */
    default void await(List<String> keys) {
        await(keys, timeout());
    }

    /**
     * Waits until all keys exist.
     *
     * @param keys the keys
     * @param timeout how long at most
     * @throws StoreTimeoutException when one of them does not appear in time; the message names
     *     those that are missing
     */
    void await(List<String> keys, Duration timeout);

    /**
     * Appends to a value, creating it when missing.
     *
     * @param key the key
     * @param value the bytes to append
     */
    void append(String key, byte[] value);

    /**
     * Waits for all keys and returns their values in the same order.
     *
     * @param keys the keys
     * @return the values
     * @throws StoreTimeoutException when one of them does not appear in time
     */
    List<byte[]> multiGet(List<String> keys);

    /**
     * Sets several keys.
     *
     * @param keys the keys
     * @param values one value a key
     */
    void multiSet(List<String> keys, List<byte[]> values);

    /**
     * Appends a value to a queue. Queues live beside the keys: {@link #check} and {@link #await}
     * see a queue that is not empty, {@link #keyCount} and {@link #listKeys} do not.
     *
     * @param key the queue
     * @param value the value
     */
    void queuePush(String key, byte[] value);

    /**
     * Takes the oldest value of a queue, waiting for one within {@link #timeout()}.
     *
     * @param key the queue
     * @return the value
     * @throws StoreTimeoutException when none arrives in time
     */
    byte[] queuePop(String key);

    /**
     * Takes the oldest value of a queue if there is one.
     *
     * @param key the queue
     * @return the value, or empty when the queue is
     */
    Optional<byte[]> queuePoll(String key);

    /**
     * Number of values in a queue.
     *
     * @param key the queue
     * @return the number, 0 when there is no such queue
     */
    long queueLength(String key);

    /**
     * All keys, without queues.
     *
     * @return the keys, in no order
     */
    List<String> listKeys();

    /**
     * Waits until {@code worldSize} callers have arrived at this key. A key serves one barrier.
     *
     * @param key name of the barrier
     * @param worldSize number of callers
     * @param timeout how long at most
     * @throws StoreTimeoutException when not all arrive in time; the message says how many did
     */
    void barrier(String key, int worldSize, Duration timeout);

    /**
     * How long {@link #get} and the other blocking methods wait.
     *
     * @return the timeout of this object
     */
    Duration timeout();

    /**
     * The same store behind another object with its own timeout. Over TCP it has its own
     * connection. The caller closes it.
     *
     * @param timeout how long its blocking methods wait
     * @return a second client of this store
     */
    Store duplicate(Duration timeout);

    /** Lets go of this client. What is stored stays. Closing twice is harmless. */
    @Override
    void close();
}

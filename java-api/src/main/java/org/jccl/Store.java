package org.jccl;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A key-value store that all ranks of a job can reach. Ranks use it to exchange addresses and
 * unique ids, not bulk data.
 *
 * <p>Keys are text, values are bytes. All implementations are thread-safe; a blocking call of one
 * thread does not delay calls of other threads. Methods without a timeout use {@link #timeout()}.
 *
 * <p>Every method throws {@link StoreException} if the store cannot be reached, and {@link
 * UsageException} if an argument is null or out of range.
 */
public interface Store extends AutoCloseable {

    /**
     * Sets a key. Replaces an existing value.
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
     * @throws StoreTimeoutException if the key does not appear in time
     */
    byte[] get(String key);

    /**
     * Adds to a counter, which starts at 0. The value is stored as decimal ASCII, as in PyTorch.
     *
     * @param key the key
     * @param delta what to add; may be negative
     * @return the sum
     */
    long add(String key, long delta);

    /**
     * Returns whether all keys exist now.
     *
     * @param keys the keys
     * @return true if each of them exists
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
     * Returns the number of keys in the whole store, including other prefixes and internal keys.
     *
     * @return the number of keys
     */
    long keyCount();

    /**
     * Replaces a value atomically if it is the expected one. An empty {@code expected} means that
     * the key must not exist.
     *
     * @param key the key
     * @param expected the value that must be there, or empty for a missing key
     * @param desired the value to store then
     * @return the value after the call. If the key is missing and {@code expected} is not empty,
     *     nothing is stored and {@code expected} is returned, as in PyTorch
     */
    byte[] compareSet(String key, byte[] expected, byte[] desired);

    /**
     * Replaces several values one after the other, each as {@link #compareSet} does. Calls of other
     * clients may be interleaved. Over TCP, the requests are sent together, which takes hardly
     * longer than one request.
     *
     * @param keys the keys
     * @param expected for each key the value that must be there, or empty for a missing key
     * @param desired for each key the value to store then
     * @return for each key the value after its replacement
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
                    "multiCompareSet: pass as many expected and desired values as keys, and no null");
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
     * @throws StoreTimeoutException if a key does not appear in time; the message names the missing
     *     keys
     */
    default void await(List<String> keys) {
        await(keys, timeout());
    }

    /**
     * Waits until all keys exist.
     *
     * @param keys the keys
     * @param timeout the maximum time to wait
     * @throws StoreTimeoutException if a key does not appear in time; the message names the missing
     *     keys
     */
    void await(List<String> keys, Duration timeout);

    /**
     * Appends to a value. A missing key is created.
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
     * @throws StoreTimeoutException if a key does not appear in time
     */
    List<byte[]> multiGet(List<String> keys);

    /**
     * Sets several keys.
     *
     * @param keys the keys
     * @param values one value for each key
     */
    void multiSet(List<String> keys, List<byte[]> values);

    /**
     * Appends a value to a queue. Queues are separate from keys: {@link #check} and {@link #await}
     * treat a non-empty queue as an existing key; {@link #keyCount} and {@link #listKeys} ignore
     * queues.
     *
     * @param key the queue
     * @param value the value
     * @throws UsageException if this kind of store has no queues, which is the default. The other
     *     queue methods throw it too
     */
    default void queuePush(String key, byte[] value) {
        throw noQueues();
    }

    /**
     * Removes the oldest value of a queue. Waits for one within {@link #timeout()}.
     *
     * @param key the queue
     * @return the value
     * @throws StoreTimeoutException if no value arrives in time
     */
    default byte[] queuePop(String key) {
        throw noQueues();
    }

    /**
     * Removes the oldest value of a queue, if there is one.
     *
     * @param key the queue
     * @return the value, or empty if the queue is empty
     */
    default Optional<byte[]> queuePoll(String key) {
        throw noQueues();
    }

    /**
     * Returns the number of values in a queue.
     *
     * @param key the queue
     * @return the number, 0 if there is no such queue
     */
    default long queueLength(String key) {
        throw noQueues();
    }

    private UsageException noQueues() {
        return new UsageException(
                FailureContext.NONE, this + " has no queues; use a TcpStore or a HashStore");
    }

    /**
     * Returns all keys, without queues.
     *
     * @return the keys, in no order
     */
    List<String> listKeys();

    /**
     * Waits until {@code worldSize} callers have arrived at this key. A key can be used for one
     * barrier.
     *
     * @param key the name of the barrier
     * @param worldSize the number of callers
     * @param timeout the maximum time to wait
     * @throws StoreTimeoutException if not all arrive in time; the message contains the number of
     *     arrivals
     */
    void barrier(String key, int worldSize, Duration timeout);

    /**
     * Returns how long {@link #get} and the other blocking methods wait.
     *
     * @return the timeout of this object
     */
    Duration timeout();

    /**
     * Returns another object for the same store, with its own timeout. Over TCP it has its own
     * connection. The caller closes it.
     *
     * @param timeout how long its blocking methods wait
     * @return a second client of this store
     */
    Store duplicate(Duration timeout);

    /**
     * Returns the host that serves the store. Backends listen on the interface that reaches this
     * host.
     *
     * @return its name or address; empty, the default, if no host serves the store
     */
    default Optional<String> serverHost() {
        return Optional.empty();
    }

    /**
     * Returns whether the connection between this process and the store is encrypted or absent.
     *
     * @return true if every connection is encrypted, or there is none; false by default, so that a
     *     store that does not say so is not used together with certificates
     */
    default boolean isEncrypted() {
        return false;
    }

    /** Closes this client. The contents of the store stay. Idempotent. */
    @Override
    void close();
}

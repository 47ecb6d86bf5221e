package org.jccl.store;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import org.jccl.Store;

/**
 * A base for stores on another key-value service. It checks arguments as all stores do, and
 * implements the calls of {@link Store} with a few calls of the service. It has no queues.
 *
 * <p>Thread-safe if the methods of the subclass are.
 */
public abstract class AbstractStore implements Store {

    private static final byte[] NOTHING = {};

    private final Duration timeout;

    /**
     * Sets the timeout.
     *
     * @param timeout how long blocking calls wait
     * @throws org.jccl.UsageException if it is null or negative
     */
    protected AbstractStore(Duration timeout) {
        this.timeout = StoreArguments.timeout(timeout);
    }

    /**
     * Changes a value atomically.
     *
     * @param key the key
     * @param change computes the value from the one before, or null if the key is missing. It may
     *     be called several times, and does not modify its argument. If it returns its argument,
     *     nothing is written
     * @return the last result of {@code change}; null if the key is missing
     */
    protected abstract byte[] change(String key, UnaryOperator<byte[]> change);

    /**
     * Sets several keys.
     *
     * @param keys the keys
     * @param values one value for each key
     */
    protected abstract void write(List<String> keys, List<byte[]> values);

    /**
     * Reads several keys.
     *
     * @param keys the keys
     * @return their values in the same order; null for a missing key
     */
    protected abstract List<byte[]> read(List<String> keys);

    /**
     * Waits until all keys exist.
     *
     * @param keys the keys
     * @param timeout the maximum time to wait; zero asks once
     * @return whether they exist
     */
    protected abstract boolean waitFor(List<String> keys, Duration timeout);

    /**
     * Deletes a key whose name was checked.
     *
     * @param key the key
     * @return whether it existed
     */
    protected abstract boolean remove(String key);

    /**
     * Opens another client.
     *
     * @param timeout how long its blocking calls wait; checked
     * @return the client
     */
    protected abstract Store another(Duration timeout);

    /**
     * Returns the size of the largest value that the service accepts.
     *
     * @return the number of bytes
     */
    protected abstract int largestValue();

    /**
     * Returns the exception for a call on a closed store.
     *
     * @return the exception
     */
    protected final RuntimeException closed() {
        return StoreArguments.closed(this);
    }

    private byte[] value(String key, byte[] value) {
        StoreArguments.key(key);
        if (StoreArguments.value(key, value).length > largestValue()) {
            throw StoreArguments.usage(
                    "The value for key '%s' has %d bytes, more than %d, the limit of %s"
                            .formatted(key, value.length, largestValue(), this));
        }
        return value;
    }

    @Override
    public final void set(String key, byte[] value) {
        write(List.of(StoreArguments.key(key)), List.of(value(key, value)));
    }

    @Override
    public final void multiSet(List<String> keys, List<byte[]> values) {
        StoreArguments.pairs(keys, values);
        for (int i = 0; i < keys.size(); i++) {
            value(keys.get(i), values.get(i));
        }
        write(keys, values);
    }

    @Override
    public final byte[] get(String key) {
        return multiGet(List.of(StoreArguments.key(key))).get(0);
    }

    @Override
    public final List<byte[]> multiGet(List<String> keys) {
        // Most keys exist, so this usually takes one request instead of two.
        List<byte[]> values = read(StoreArguments.keys(keys));
        if (values.contains(null)) {
            await(keys);
            values = read(keys);
        }
        return values.stream().map(value -> value == null ? NOTHING : value).toList();
    }

    @Override
    public final long add(String key, long delta) {
        StoreArguments.key(key);
        byte[] sum =
                change(
                        key,
                        before -> {
                            KeySpace one = new KeySpace();
                            if (before != null) {
                                if (!KeySpace.isNumber(before)) {
                                    throw StoreArguments.notANumber(this, key);
                                }
                                one.set(key, before);
                            }
                            one.add(key, delta);
                            return one.get(key);
                        });
        return Long.parseLong(new String(sum, StandardCharsets.US_ASCII));
    }

    @Override
    public final byte[] compareSet(String key, byte[] expected, byte[] desired) {
        value(key, expected);
        byte[] copy = value(key, desired).clone();
        byte[] after =
                change(
                        key,
                        before -> {
                            boolean same =
                                    before == null
                                            ? expected.length == 0
                                            : Arrays.equals(before, expected);
                            return same ? copy : before;
                        });
        return (after == null ? expected : after).clone();
    }

    @Override
    public final void append(String key, byte[] value) {
        byte[] copy = value(key, value).clone();
        change(
                key,
                before -> {
                    if (before == null) {
                        return copy;
                    }
                    if (before.length + copy.length > largestValue()) {
                        throw StoreArguments.tooLong(this, key);
                    }
                    byte[] joined = Arrays.copyOf(before, before.length + copy.length);
                    System.arraycopy(copy, 0, joined, before.length, copy.length);
                    return joined;
                });
    }

    @Override
    public final boolean check(List<String> keys) {
        return waitFor(StoreArguments.keys(keys), Duration.ZERO);
    }

    @Override
    public final void await(List<String> keys, Duration timeout) {
        StoreArguments.keys(keys);
        if (!waitFor(keys, StoreArguments.timeout(timeout))) {
            throw MissingKeys.timeout(this, keys, timeout);
        }
    }

    @Override
    public final boolean deleteKey(String key) {
        return remove(StoreArguments.key(key));
    }

    @Override
    public final void barrier(String key, int worldSize, Duration timeout) {
        CountingBarrier.await(this, key, worldSize, timeout);
    }

    @Override
    public final Duration timeout() {
        return timeout;
    }

    @Override
    public final Store duplicate(Duration timeout) {
        return another(StoreArguments.timeout(timeout));
    }
}

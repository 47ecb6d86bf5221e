package org.jccl.store;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.jccl.Store;
import org.jccl.spi.Deadline;

/**
 * A store in the memory of this process, for tests and for ranks that are threads of one JVM.
 * Thread-safe. Duplicates share the content, which exists as long as one of them is reachable.
 */
public final class HashStore implements Store {

    /** The state that duplicates share. */
    private static final class Shared {
        private final KeySpace keys = new KeySpace();
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition changed = lock.newCondition();
    }

    private final Shared shared;
    private final Duration timeout;
    private boolean closed;

    private HashStore(Shared shared, Duration timeout) {
        this.shared = shared;
        this.timeout = StoreArguments.timeout(timeout);
    }

    /**
     * Creates an empty store.
     *
     * @param timeout the time limit for blocking calls, zero or more
     * @return the store
     * @throws org.jccl.UsageException if the timeout is null or negative
     */
    public static HashStore create(Duration timeout) {
        return new HashStore(new Shared(), timeout);
    }

    @Override
    public void set(String key, byte[] value) {
        StoreArguments.key(key);
        StoreArguments.value(key, value);
        locked(
                keys -> {
                    keys.set(key, value.clone());
                    return null;
                });
    }

    @Override
    public byte[] get(String key) {
        return multiGet(List.of(StoreArguments.key(key))).get(0);
    }

    @Override
    public long add(String key, long delta) {
        StoreArguments.key(key);
        return locked(
                keys -> {
                    try {
                        return keys.add(key, delta);
                    } catch (NumberFormatException e) {
                        throw StoreArguments.notANumber(this, key);
                    }
                });
    }

    @Override
    public boolean check(List<String> keys) {
        StoreArguments.keys(keys);
        return locked(space -> space.containsAll(keys));
    }

    @Override
    public boolean deleteKey(String key) {
        StoreArguments.key(key);
        return locked(keys -> keys.delete(key));
    }

    @Override
    public long keyCount() {
        return locked(KeySpace::size);
    }

    @Override
    public byte[] compareSet(String key, byte[] expected, byte[] desired) {
        StoreArguments.key(key);
        StoreArguments.value(key, expected);
        StoreArguments.value(key, desired);
        return locked(keys -> keys.compareSet(key, expected, desired.clone()).clone());
    }

    @Override
    public void await(List<String> keys, Duration timeout) {
        StoreArguments.keys(keys);
        StoreArguments.timeout(timeout);
        boolean there =
                locked(space -> waitFor(() -> space.containsAll(keys), Deadline.after(timeout)));
        if (!there) {
            throw MissingKeys.timeout(this, keys, timeout);
        }
    }

    @Override
    public void append(String key, byte[] value) {
        StoreArguments.key(key);
        StoreArguments.value(key, value);
        boolean done = locked(keys -> keys.append(key, value.clone()));
        if (!done) {
            throw StoreArguments.tooLong(this, key);
        }
    }

    @Override
    public List<byte[]> multiGet(List<String> keys) {
        await(keys);
        return locked(space -> space.copies(keys));
    }

    @Override
    public void multiSet(List<String> keys, List<byte[]> values) {
        StoreArguments.pairs(keys, values);
        locked(
                space -> {
                    for (int i = 0; i < keys.size(); i++) {
                        space.set(keys.get(i), values.get(i).clone());
                    }
                    return null;
                });
    }

    @Override
    public void queuePush(String key, byte[] value) {
        StoreArguments.key(key);
        StoreArguments.value(key, value);
        locked(
                keys -> {
                    keys.push(key, value.clone());
                    return null;
                });
    }

    @Override
    public byte[] queuePop(String key) {
        StoreArguments.key(key);
        Deadline deadline = Deadline.after(timeout);
        byte[] value =
                locked(
                        keys ->
                                waitFor(() -> keys.queueLength(key) > 0, deadline)
                                        ? keys.poll(key)
                                        : null);
        if (value == null) {
            throw MissingKeys.timeout(this, List.of(key), timeout);
        }
        return value;
    }

    @Override
    public Optional<byte[]> queuePoll(String key) {
        StoreArguments.key(key);
        return Optional.ofNullable(locked(keys -> keys.poll(key)));
    }

    @Override
    public long queueLength(String key) {
        StoreArguments.key(key);
        return locked(keys -> keys.queueLength(key));
    }

    @Override
    public List<String> listKeys() {
        return locked(keys -> List.copyOf(keys.keys()));
    }

    @Override
    public void barrier(String key, int worldSize, Duration timeout) {
        CountingBarrier.await(this, key, worldSize, timeout);
    }

    @Override
    public Duration timeout() {
        return timeout;
    }

    @Override
    public Store duplicate(Duration timeout) {
        return locked(keys -> new HashStore(shared, timeout));
    }

    /** Always true: there is no connection. */
    @Override
    public boolean isEncrypted() {
        return true;
    }

    /** Closes this object and ends the waits of other threads in it. Duplicates stay open. */
    @Override
    public void close() {
        shared.lock.lock();
        try {
            closed = true;
            shared.changed.signalAll();
        } finally {
            shared.lock.unlock();
        }
    }

    @Override
    public String toString() {
        return "HashStore";
    }

    /** An operation on the shared content. */
    private interface Step<T> {
        T run(KeySpace keys);
    }

    /**
     * Runs an operation under the lock and wakes all waiters, which check their condition again.
     */
    private <T> T locked(Step<T> step) {
        shared.lock.lock();
        try {
            requireOpen();
            T result = step.run(shared.keys);
            shared.changed.signalAll();
            return result;
        } finally {
            shared.lock.unlock();
        }
    }

    private void requireOpen() {
        if (closed) {
            throw StoreArguments.closed(this);
        }
    }

    private boolean waitFor(BooleanSupplier condition, Deadline deadline) {
        boolean interrupted = false;
        try {
            while (!condition.getAsBoolean()) {
                if (deadline.hasPassed()) {
                    return false;
                }
                try {
                    shared.changed.awaitNanos(deadline.nanosLeft());
                } catch (InterruptedException e) {
                    interrupted = true;
                }
                requireOpen();
            }
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}

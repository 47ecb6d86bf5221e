package org.jccl.store;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jccl.Store;

/**
 * A view of another store that puts {@code prefix + "/"} before every key. Prefixes nest: the
 * outermost one is directly before the key. The names are PyTorch's, so Java and Python processes
 * with the same prefixes share their keys.
 */
public final class PrefixStore implements Store {

    private final String prefix;
    private final Store underlying;
    private final boolean ownsUnderlying;

    /**
     * Creates a view of a store. Closing the view does not close that store.
     *
     * @param prefix the text before each key, without a slash
     * @param underlying the store that holds the keys; its timeout is used
     * @throws org.jccl.UsageException if an argument is null
     */
    public PrefixStore(String prefix, Store underlying) {
        this(prefix, underlying, false);
    }

    private PrefixStore(String prefix, Store underlying, boolean ownsUnderlying) {
        if (prefix == null || underlying == null) {
            throw StoreArguments.usage(
                    "PrefixStore(%s, %s): pass a prefix and a store".formatted(prefix, underlying));
        }
        this.prefix = prefix;
        this.underlying = underlying;
        this.ownsUnderlying = ownsUnderlying;
    }

    /**
     * Returns the store beneath this prefix.
     *
     * @return the store given to the constructor
     */
    public Store underlying() {
        return underlying;
    }

    /**
     * Returns the store beneath all prefixes.
     *
     * @param store any store
     * @return the first store that is not a {@code PrefixStore}; possibly the argument
     * @throws org.jccl.UsageException if it is null
     */
    public static Store root(Store store) {
        if (store == null) {
            throw StoreArguments.usage("PrefixStore.root(null): pass a store");
        }
        return store instanceof PrefixStore part ? root(part.underlying) : store;
    }

    @Override
    public void set(String key, byte[] value) {
        underlying.set(full(key), value);
    }

    @Override
    public byte[] get(String key) {
        return underlying.get(full(key));
    }

    @Override
    public long add(String key, long delta) {
        return underlying.add(full(key), delta);
    }

    @Override
    public boolean check(List<String> keys) {
        return underlying.check(full(keys));
    }

    @Override
    public boolean deleteKey(String key) {
        return underlying.deleteKey(full(key));
    }

    @Override
    public long keyCount() {
        return underlying.keyCount();
    }

    @Override
    public byte[] compareSet(String key, byte[] expected, byte[] desired) {
        return underlying.compareSet(full(key), expected, desired);
    }

    @Override
    public List<byte[]> multiCompareSet(
            List<String> keys, List<byte[]> expected, List<byte[]> desired) {
        return underlying.multiCompareSet(full(keys), expected, desired);
    }

    @Override
    public void await(List<String> keys, Duration timeout) {
        underlying.await(full(keys), timeout);
    }

    @Override
    public void append(String key, byte[] value) {
        underlying.append(full(key), value);
    }

    @Override
    public List<byte[]> multiGet(List<String> keys) {
        return underlying.multiGet(full(keys));
    }

    @Override
    public void multiSet(List<String> keys, List<byte[]> values) {
        underlying.multiSet(full(keys), values);
    }

    @Override
    public void queuePush(String key, byte[] value) {
        underlying.queuePush(full(key), value);
    }

    @Override
    public byte[] queuePop(String key) {
        return underlying.queuePop(full(key));
    }

    @Override
    public Optional<byte[]> queuePoll(String key) {
        return underlying.queuePoll(full(key));
    }

    @Override
    public long queueLength(String key) {
        return underlying.queueLength(full(key));
    }

    /**
     * Returns the keys with this prefix, without the prefix.
     *
     * @return the keys, in no order
     */
    @Override
    public List<String> listKeys() {
        String start = prefix + "/";
        return underlying.listKeys().stream()
                .filter(key -> key.startsWith(start))
                .map(key -> key.substring(start.length()))
                .toList();
    }

    /**
     * Waits at a barrier that uses plain keys, even if the underlying store has a native barrier.
     * PyTorch does the same, and both sides must use the same keys.
     */
    @Override
    public void barrier(String key, int worldSize, Duration timeout) {
        CountingBarrier.await(this, key, worldSize, timeout);
    }

    @Override
    public Optional<String> serverHost() {
        return underlying.serverHost();
    }

    @Override
    public boolean isEncrypted() {
        return underlying.isEncrypted();
    }

    @Override
    public Duration timeout() {
        return underlying.timeout();
    }

    @Override
    public Store duplicate(Duration timeout) {
        return new PrefixStore(prefix, underlying.duplicate(timeout), true);
    }

    /** Closes the underlying store only if {@link #duplicate} created it. */
    @Override
    public void close() {
        if (ownsUnderlying) {
            underlying.close();
        }
    }

    @Override
    public String toString() {
        return "PrefixStore(" + prefix + ", " + underlying + ")";
    }

    private String full(String key) {
        return prefix + "/" + StoreArguments.key(key);
    }

    private List<String> full(List<String> keys) {
        return StoreArguments.keys(keys).stream().map(this::full).toList();
    }
}

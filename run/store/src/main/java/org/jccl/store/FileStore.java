package org.jccl.store;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jccl.Store;
import org.jccl.StoreException;
import org.jccl.UsageException;
import org.jccl.spi.Deadline;

/**
 * A store in a file that all ranks can open, in the format of PyTorch's FileStore, so that Java and
 * Python processes can share it. Suitable for a job on one host, or on a file system whose {@code
 * flock} works between hosts.
 *
 * <p>The file must not exist, or be empty, when the first rank opens it. It grows with every write.
 * The file counts the open stores. The last store to close deletes the file, once at least {@code
 * worldSize} stores have closed. If a value cannot be written, for example because the disk is
 * full, no rank sees it, and the caller may retry.
 *
 * <p>A waiting call polls the file every 10 ms. Each write acquires the file's {@code flock}
 * through the {@code flock} command of util-linux, which takes a few milliseconds; it throws {@link
 * StoreException} if the command is not installed. PyTorch's FileStore has no queues, so {@link
 * #queuePush}, {@link #queuePop}, {@link #queuePoll} and {@link #queueLength} throw {@link
 * UsageException}. {@link #keyCount} includes the counter of open stores.
 */
public final class FileStore implements Store {

    private static final String USER_KEYS = "/";
    private static final String OPEN_STORES = "refcount/";
    private static final String CLOSED_STORES = "cleanup/";
    private static final Duration POLL = Duration.ofMillis(10);

    private final Path file;
    private final int worldSize;
    private final Duration timeout;
    private final FileLog log;
    private boolean closed;

    private FileStore(Path file, int worldSize, Duration timeout) {
        this.file = file;
        this.worldSize = worldSize;
        this.timeout = timeout;
        this.log = new FileLog(file);
    }

    /**
     * Opens a store and creates the file if it does not exist.
     *
     * @param file the path of the file, the same on every rank; its directory must exist
     * @param worldSize the number of ranks that open the store, at least 1
     * @param timeout the time limit for blocking calls and for acquiring the lock, zero or more
     * @return the store
     * @throws StoreException if the file cannot be created, locked or read
     * @throws UsageException if an argument is null or out of range
     */
    public static FileStore open(Path file, int worldSize, Duration timeout) {
        if (file == null) {
            throw StoreArguments.usage("The path of the store file is null; pass one");
        }
        StoreArguments.worldSize(worldSize);
        StoreArguments.timeout(timeout);
        FileStore store = new FileStore(file, worldSize, timeout);
        store.write("open", keys -> store.count(OPEN_STORES, 1));
        return store;
    }

    @Override
    public void set(String key, byte[] value) {
        String name = name(key);
        StoreArguments.value(key, value);
        write(
                "set",
                keys -> {
                    keys.set(name, value.clone());
                    log.writeSet(name);
                    return null;
                });
    }

    @Override
    public byte[] get(String key) {
        return multiGet(List.of(StoreArguments.key(key))).get(0);
    }

    @Override
    public long add(String key, long delta) {
        String name = name(key);
        return write(
                "add",
                keys -> {
                    try {
                        return count(name, delta);
                    } catch (NumberFormatException e) {
                        throw StoreArguments.notANumber(this, key);
                    }
                });
    }

    @Override
    public boolean check(List<String> keys) {
        List<String> names = names(keys);
        return read("check", space -> space.containsAll(names));
    }

    @Override
    public boolean deleteKey(String key) {
        String name = name(key);
        return write(
                "deleteKey",
                keys -> {
                    boolean existed = keys.delete(name);
                    if (existed) {
                        log.writeDelete(name);
                    }
                    return existed;
                });
    }

    /** Always true: there is no connection. */
    @Override
    public boolean isEncrypted() {
        return true;
    }

    @Override
    public long keyCount() {
        return read("keyCount", KeySpace::size);
    }

    @Override
    public byte[] compareSet(String key, byte[] expected, byte[] desired) {
        String name = name(key);
        StoreArguments.value(key, expected);
        StoreArguments.value(key, desired);
        return write(
                "compareSet",
                keys -> {
                    byte[] before = keys.get(name);
                    byte[] result = keys.compareSet(name, expected, desired.clone());
                    if (keys.get(name) != before) {
                        log.writeSet(name);
                    }
                    return result.clone();
                });
    }

    @Override
    public void await(List<String> keys, Duration timeout) {
        StoreArguments.timeout(timeout);
        Deadline deadline = Deadline.after(timeout);
        while (!check(keys)) {
            if (deadline.hasPassed()) {
                throw MissingKeys.timeout(this, keys, timeout);
            }
            deadline.pause(POLL);
        }
    }

    @Override
    public void append(String key, byte[] value) {
        String name = name(key);
        StoreArguments.value(key, value);
        write(
                "append",
                keys -> {
                    if (!keys.append(name, value.clone())) {
                        throw StoreArguments.tooLong(this, key);
                    }
                    log.writeSet(name);
                    return null;
                });
    }

    @Override
    public List<byte[]> multiGet(List<String> keys) {
        await(keys);
        return read("multiGet", space -> space.copies(names(keys)));
    }

    @Override
    public void multiSet(List<String> keys, List<byte[]> values) {
        StoreArguments.pairs(keys, values);
        write(
                "multiSet",
                space -> {
                    for (int i = 0; i < keys.size(); i++) {
                        String name = name(keys.get(i));
                        space.set(name, values.get(i).clone());
                        log.writeSet(name);
                    }
                    return null;
                });
    }

    @Override
    public List<String> listKeys() {
        return read(
                "listKeys",
                space ->
                        space.keys().stream()
                                .filter(name -> name.startsWith(USER_KEYS))
                                .map(FileStore::key)
                                .toList());
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
        synchronized (this) {
            requireOpen();
        }
        return open(file, worldSize, timeout);
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        try (log) {
            if (Files.exists(file)) {
                exchange("close", true, keys -> leave());
            }
        } catch (IOException e) {
            throw new StoreException("Closing the file of " + this + " failed", e);
        }
    }

    @Override
    public String toString() {
        return "FileStore(" + file + ")";
    }

    private Void leave() throws IOException {
        long left = count(CLOSED_STORES, 1);
        long open = count(OPEN_STORES, -1);
        if (open == 0 && left >= worldSize) {
            Files.deleteIfExists(file);
        }
        return null;
    }

    private long count(String name, long delta) throws IOException {
        long sum = log.keys().add(name, delta);
        log.writeSet(name);
        return sum;
    }

    /** An operation on the content of the file. */
    private interface Step<T> {
        T run(KeySpace keys) throws IOException;
    }

    private synchronized <T> T read(String operation, Step<T> step) {
        requireOpen();
        return exchange(operation, false, step);
    }

    private synchronized <T> T write(String operation, Step<T> step) {
        requireOpen();
        return exchange(operation, true, step);
    }

    private synchronized <T> T exchange(String operation, boolean locked, Step<T> step) {
        try (FileLock lock = locked ? FileLock.acquire(file, Deadline.after(timeout)) : null) {
            if (lock == null) {
                log.refresh();
            } else {
                log.refreshUnderLock();
            }
            return step.run(log.keys());
        } catch (NumberFormatException e) {
            throw new StoreException(
                    "%s on %s: its count of open stores is not a number, so it is corrupt or not a store file. Delete it if no job uses it, or use another path"
                            .formatted(operation, this),
                    e);
        } catch (FileNotFoundException e) {
            throw new StoreException(
                    "%s on %s: the file does not exist or cannot be read (%s). Give every rank the same path and world size, and do not delete the file while the job runs"
                            .formatted(operation, this, e.getMessage()),
                    e);
        } catch (IOException e) {
            throw new StoreException(
                    "%s on %s failed: %s. Use a path that no other job uses, on a file system that all ranks can write to"
                            .formatted(operation, this, e.getMessage()),
                    e);
        }
    }

    private void requireOpen() {
        if (closed) {
            throw StoreArguments.closed(this);
        }
    }

    /** Returns the name of a key in the file: a slash and the key's UTF-8 bytes as Latin-1 text. */
    private static String name(String key) {
        byte[] utf8 = (USER_KEYS + StoreArguments.key(key)).getBytes(StandardCharsets.UTF_8);
        return new String(utf8, StandardCharsets.ISO_8859_1);
    }

    private static List<String> names(List<String> keys) {
        return StoreArguments.keys(keys).stream().map(FileStore::name).toList();
    }

    private static String key(String name) {
        byte[] utf8 = name.substring(USER_KEYS.length()).getBytes(StandardCharsets.ISO_8859_1);
        return new String(utf8, StandardCharsets.UTF_8);
    }
}

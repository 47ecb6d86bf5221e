package org.jccl.internal.observe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.internal.json.JsonText;
import org.jccl.internal.operation.OperationObserver;
import org.jccl.internal.operation.OperationRecord;
import org.jccl.spi.LocalHost;

/**
 * Writes the state of this rank to a file at each whole second, for {@code jccl top}. It has a
 * thread of its own, so an old file means that the whole process is stopped. Readers see a whole
 * file or none.
 */
final class Monitor implements AutoCloseable {

    /** Names the folder for the files. Without it, nothing is written. */
    static final String FOLDER_VARIABLE = "JCCL_MONITOR_DIR";

    private static final System.Logger LOGGER = System.getLogger("org.jccl.monitor");
    private static final long INTERVAL_MILLIS = 1000;

    /** A program may have thousands of groups. Stuck groups come first. */
    private static final int MAX_GROUPS = 16;

    private final Path folder;
    private final Thread thread;
    private final String host = LocalHost.name();
    private final ProcessHandle process = ProcessHandle.current();

    // Guarded by this object's monitor, inside which that of a group is taken.
    private final List<WatchedGroup> groups = new ArrayList<>();
    private WatchedGroup world;

    /** Why the first group failed of those that are closed, or null. */
    private String failure;

    private Totals ofClosed = Totals.NONE;
    private boolean ended;

    // The writing thread's own.
    private Totals lastTotals = Totals.NONE;
    private long lastNanos = System.nanoTime();
    private boolean hasFailed;

    /**
     * Starts the thread.
     *
     * @param folder created if it is missing
     * @param name the name of the thread
     */
    Monitor(Path folder, String name) {
        this.folder = folder;
        thread = new Thread(this::run, "jccl-monitor-" + name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Includes a group until it is closed. */
    synchronized WatchedGroup watch(GroupInfo group) {
        WatchedGroup watched = new WatchedGroup(group, this::forget);
        if (world == null) {
            world = watched;
        }
        groups.add(watched);
        return watched;
    }

    private synchronized void forget(WatchedGroup group) {
        groups.remove(group);
        ofClosed = ofClosed.plus(group.totals());
        if (failure == null) {
            failure = group.failure();
        }
    }

    private void run() {
        boolean last = false;
        while (!last) {
            synchronized (this) {
                if (!ended) {
                    try {
                        wait(millisToNext(System.currentTimeMillis()));
                    } catch (InterruptedException e) {
                        // This file is then early.
                    }
                }
                last = ended;
            }
            write();
        }
    }

    /**
     * Returns the time to the next whole second, at which all ranks write, so that a reader can
     * compare them.
     */
    private static long millisToNext(long now) {
        long left = INTERVAL_MILLIS - now % INTERVAL_MILLIS;
        // A thread that wakes slightly early has written already.
        return left < INTERVAL_MILLIS / 10 ? left + INTERVAL_MILLIS : left;
    }

    private void write() {
        try {
            String text = json();
            if (!text.isEmpty()) {
                Files.createDirectories(folder);
                Path unfinished = Files.createTempFile(folder, ".monitor", ".part");
                Files.writeString(unfinished, text);
                Path file = folder.resolve("rank" + world.info().worldRank() + ".json");
                Files.move(unfinished, file, StandardCopyOption.REPLACE_EXISTING);
            }
        } catch (IOException | UncheckedIOException e) {
            if (!hasFailed) {
                hasFailed = true;
                LOGGER.log(
                        System.Logger.Level.WARNING,
                        "cannot write the state of this rank to " + folder + ": " + e);
            }
        }
    }

    /** Returns an empty text before the world exists. */
    private synchronized String json() {
        if (world == null) {
            return "";
        }
        long now = System.nanoTime();
        Totals totals = ofClosed;
        for (WatchedGroup group : groups) {
            totals = totals.plus(group.totals());
        }
        double seconds = Math.max(1, now - lastNanos) / 1e9;
        JsonText json = new JsonText().beginObject(null);
        json.field("version", "jccl monitor 1");
        json.field("rank", world.info().worldRank());
        json.field("size", world.info().size());
        json.field("host", host).field("pid", process.pid());
        json.field(
                "process_started_ms",
                process.info().startInstant().map(each -> each.toEpochMilli()).orElse(0L));
        json.field("time_ms", System.currentTimeMillis());
        json.field("interval_ms", INTERVAL_MILLIS);
        json.field("ended", ended);
        if (failure != null) {
            json.field("failure", failure);
        }
        json.field("operations", totals.operations()).field("bytes", totals.bytes());
        json.field("failed", totals.failed());
        json.field(
                "operations_per_second", (totals.operations() - lastTotals.operations()) / seconds);
        json.field("bytes_per_second", (totals.bytes() - lastTotals.bytes()) / seconds);
        json.beginArray("groups");
        groups.stream()
                .map(each -> each.state(now))
                .sorted(Comparator.comparingLong(State::runningNanos).reversed())
                .limit(MAX_GROUPS)
                .forEach(each -> each.write(json));
        lastTotals = totals;
        lastNanos = now;
        return json.endArray().endObject().toString();
    }

    /** Writes that this rank has ended. Waits for a moment only. */
    @Override
    public void close() {
        synchronized (this) {
            ended = true;
            notifyAll();
        }
        try {
            thread.join(INTERVAL_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Numbers of ended operations.
     *
     * @param operations all operations
     * @param bytes the bytes of completed operations
     * @param failed failed operations
     */
    record Totals(long operations, long bytes, long failed) {

        static final Totals NONE = new Totals(0, 0, 0);

        Totals plus(Totals other) {
            return new Totals(
                    operations + other.operations, bytes + other.bytes, failed + other.failed);
        }
    }

    /**
     * The state of the group at one moment.
     *
     * @param info the group
     * @param started sequence of the newest collective that started, or -1
     * @param completed sequence of the newest collective that completed, or -1
     * @param running the oldest running operation, or null
     * @param runningNanos for how long, or -1
     * @param failure why the group failed, or null
     */
    record State(
            GroupInfo info,
            long started,
            long completed,
            OperationRecord running,
            long runningNanos,
            String failure) {

        void write(JsonText json) {
            json.beginObject(null);
            json.field("name", info.name()).field("backend", info.backend());
            json.field("rank", info.rank()).field("size", info.size());
            json.field("started", started).field("completed", completed);
            if (running != null) {
                json.field("running", running.text());
                json.field("running_sequence", running.isCollective() ? running.sequence() : -1);
                json.field("running_ms", runningNanos / 1_000_000);
            }
            if (failure != null) {
                json.field("failure", failure);
            }
            json.endObject();
        }
    }

    /** The state of one group on one backend, for the monitor. */
    static final class WatchedGroup implements OperationObserver {

        private final GroupInfo info;
        private final Consumer<WatchedGroup> onClose;

        // Guarded by the monitor of this object.
        private final Set<OperationRecord> running = new LinkedHashSet<>();
        private long operations;
        private long bytes;
        private long failed;
        private long started = -1;
        private long completed = -1;
        private String failure;

        WatchedGroup(GroupInfo info, Consumer<WatchedGroup> onClose) {
            this.info = info;
            this.onClose = onClose;
        }

        GroupInfo info() {
            return info;
        }

        @Override
        public boolean isOn() {
            return true;
        }

        @Override
        public synchronized void started(OperationRecord operation) {
            running.add(operation);
            if (operation.isCollective()) {
                started = Math.max(started, operation.sequence());
            }
        }

        @Override
        public synchronized void ended(OperationRecord operation) {
            running.remove(operation);
            operations++;
            if (operation.failure() != null) {
                failed++;
                return;
            }
            bytes += operation.bytes();
            if (operation.isCollective()) {
                completed = Math.max(completed, operation.sequence());
            }
        }

        @Override
        public synchronized void groupFailed(JcclException cause) {
            failure = cause.getMessage();
        }

        @Override
        public void groupClosed() {
            onClose.accept(this);
        }

        /** Why it failed, or null. */
        synchronized String failure() {
            return failure;
        }

        synchronized Totals totals() {
            return new Totals(operations, bytes, failed);
        }

        synchronized State state(long now) {
            Iterator<OperationRecord> oldest = running.iterator();
            OperationRecord first = oldest.hasNext() ? oldest.next() : null;
            return new State(
                    info,
                    started,
                    completed,
                    first,
                    first == null ? -1 : now - first.startNanos(),
                    failure);
        }
    }
}

package org.jccl.internal.observe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jccl.GroupInfo;
import org.jccl.internal.json.JsonText;
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
    private final List<MonitoredGroup> groups = new ArrayList<>();
    private MonitoredGroup world;

    /** Why the first group failed of those that are closed, or null. */
    private String failure;

    private MonitoredGroup.Totals ofClosed = MonitoredGroup.Totals.NONE;
    private boolean ended;

    // The writing thread's own.
    private MonitoredGroup.Totals lastTotals = MonitoredGroup.Totals.NONE;
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
    synchronized MonitoredGroup watch(GroupInfo group) {
        MonitoredGroup watched = new MonitoredGroup(group, this::forget);
        if (world == null) {
            world = watched;
        }
        groups.add(watched);
        return watched;
    }

    private synchronized void forget(MonitoredGroup group) {
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
        MonitoredGroup.Totals totals = ofClosed;
        for (MonitoredGroup group : groups) {
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
                .sorted(Comparator.comparingLong(MonitoredGroup.State::runningNanos).reversed())
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
}

package org.jccl.internal.observe;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.internal.json.JsonText;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.OperationObserver;
import org.jccl.internal.operation.OperationRecord;
import org.jccl.spi.BoundedCall;

/**
 * The last operations of one group on one backend. They are kept in a ring and written to a file
 * when the group is closed or fails. Field names are those of PyTorch's flight recorder where it
 * has them.
 *
 * <p>The recorder does not see when a device executes an operation, only when it was issued and
 * when its end was noticed. So operations of a device go from scheduled to completed.
 *
 * <p>The recorder also keeps when threads of the program were blocked for operations. Outside these
 * times, a thread did not communicate, so a reader sees what overlapped.
 */
final class FlightRecorder implements OperationObserver {

    /** Names the folder for the files. Without it, nothing is recorded. */
    static final String FOLDER_VARIABLE = "JCCL_TRACE_DIR";

    /** The capacity of PyTorch's recorder. */
    static final int CAPACITY = 2000;

    private static final Logger LOGGER = System.getLogger("org.jccl");

    /**
     * How long writing the file may delay the end of a group or process: the time that a file
     * server needs if all ranks of a large job write at once. A failure does not wait for it.
     */
    private static final Duration WRITE_TIMEOUT = Duration.ofSeconds(10);

    /** The state of an operation. */
    enum State {
        /** Issued to a device's stream. */
        SCHEDULED,
        /** Inside the library. */
        STARTED,
        /** Over. */
        COMPLETED;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** One operation, with the name of its thread, since threads end. */
    private record Entry(long recordId, OperationRecord operation, String thread) {

        boolean isCompleted() {
            return operation.hasEnded();
        }
    }

    /** A thread of the program that was blocked until an operation completed. */
    private record Wait(
            String thread, boolean collective, long sequence, long beganNanos, long endedNanos) {}

    /** A thread of the program that is blocked now. */
    private record Blocked(Operation operation, long beganNanos) {}

    private static final int CLOCK_READINGS = 20;

    private final Path folder;
    private final GroupInfo group;
    private final State first;
    private final long timeoutMillis;
    private final Duration writeTimeout;

    /** Makes times of the monotonic clock of this host comparable with those of other ranks. */
    private final long epochNanos = epochNanos();

    private final Entry[] ring = new Entry[CAPACITY];
    private final ArrayDeque<Wait> waits = new ArrayDeque<>();
    private final Map<Thread, Blocked> blocked = new HashMap<>();
    private long recorded;
    private boolean written;

    /** The thread that writes the file, or null. */
    private BoundedCall writing;

    /** Writes the file if the process ends before the group. */
    private final Thread atExit;

    /**
     * Creates an empty recorder.
     *
     * @param folder created if it is missing
     * @param first the state of an operation that was just passed to the library
     * @param timeoutMillis the deadline of an operation
     */
    FlightRecorder(Path folder, GroupInfo group, State first, long timeoutMillis) {
        this(folder, group, first, timeoutMillis, WRITE_TIMEOUT);
    }

    FlightRecorder(
            Path folder, GroupInfo group, State first, long timeoutMillis, Duration writeTimeout) {
        this.folder = folder;
        this.group = group;
        this.first = first;
        this.timeoutMillis = timeoutMillis;
        this.writeTimeout = writeTimeout;
        this.atExit = new Thread(this::processExits, threadName() + "-exit");
        addHook(atExit);
    }

    private String threadName() {
        return "jccl-trace-" + group.name() + "-" + group.rank();
    }

    /**
     * A launcher ends the ranks that survive a lost one, often before they have noticed the loss.
     * What they were doing then is all that is known of it.
     */
    private void processExits() {
        startWriting(null);
        awaitWriting();
    }

    /**
     * Returns the difference between both clocks. A thread may lose its processor, or load a class,
     * between reading one and the other, so the readings count that took the least time. Ranks of
     * one host are compared by it, to a few microseconds.
     */
    private static long epochNanos() {
        long best = Long.MAX_VALUE;
        long difference = 0;
        for (int i = 0; i < CLOCK_READINGS; i++) {
            long before = System.nanoTime();
            Instant now = Instant.now();
            long took = System.nanoTime() - before;
            if (took < best) {
                best = took;
                difference =
                        TimeUnit.SECONDS.toNanos(now.getEpochSecond())
                                + now.getNano()
                                - (before + took / 2);
            }
        }
        return difference;
    }

    @Override
    public boolean isOn() {
        return true;
    }

    @Override
    public boolean seesWaits() {
        return true;
    }

    @Override
    public synchronized void started(OperationRecord operation) {
        ring[(int) (recorded % CAPACITY)] =
                new Entry(recorded, operation, operation.thread().getName());
        recorded++;
    }

    @Override
    public void ended(OperationRecord operation) {
        // The record contains the end.
    }

    @Override
    public void groupFailed(JcclException cause) {
        startWriting(cause);
    }

    @Override
    public void groupClosed() {
        startWriting(null);
        awaitWriting();
    }

    @Override
    public void processEnds() {
        awaitWriting();
    }

    @Override
    public synchronized void waiting(Operation operation, long beganNanos) {
        if (!written) {
            blocked.put(Thread.currentThread(), new Blocked(operation, beganNanos));
        }
    }

    @Override
    public synchronized void waited(boolean collective, long sequence, long beganNanos) {
        blocked.remove(Thread.currentThread());
        if (!written) {
            add(Thread.currentThread(), collective, sequence, beganNanos);
        }
    }

    private void add(Thread thread, boolean collective, long sequence, long beganNanos) {
        if (waits.size() == CAPACITY) {
            waits.remove();
        }
        waits.add(new Wait(thread.getName(), collective, sequence, beganNanos, System.nanoTime()));
    }

    /**
     * Writes the file, once, because a failed group is also closed later. Another thread writes it,
     * because a folder of a lost file server may hang, and other threads wait for the failure. A
     * process that ends meanwhile waits for it for a limited time.
     *
     * @param failure why the group failed, or null
     */
    private synchronized void startWriting(JcclException failure) {
        if (written) {
            return;
        }
        written = true;
        // A failure is recorded before it ends the waits.
        blocked.forEach(
                (thread, wait) ->
                        add(
                                thread,
                                wait.operation.kind.isCollective(),
                                wait.operation.sequence,
                                wait.beganNanos));
        blocked.clear();
        String text = json(failure);
        writing =
                BoundedCall.start(
                        threadName(),
                        () -> {
                            try {
                                writeFile(text);
                            } finally {
                                removeHook(atExit);
                            }
                        });
    }

    private static void addHook(Thread atExit) {
        try {
            Runtime.getRuntime().addShutdownHook(atExit);
        } catch (IllegalStateException e) {
            return; // the process exits already
        }
    }

    private static void removeHook(Thread atExit) {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException e) {
            return; // the process exits, and has waited for this
        }
    }

    private void awaitWriting() {
        BoundedCall begun;
        synchronized (this) {
            begun = writing;
        }
        if (begun != null && !begun.await(writeTimeout)) {
            warn("is still writing its record to " + folder, null);
        }
    }

    private void writeFile(String text) {
        Path file = folder.resolve(fileName());
        try {
            Files.createDirectories(folder);
            Path unfinished = Files.createTempFile(folder, ".trace", ".part");
            Files.writeString(unfinished, text);
            // Readers see a whole file or none.
            Files.move(unfinished, file, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException | UncheckedIOException e) {
            // The end of the group must not depend on its record.
            warn("cannot write " + file, e);
        }
    }

    private void warn(String what, Exception why) {
        LOGGER.log(
                Logger.Level.WARNING,
                "group '" + group.name() + "', rank " + group.rank() + ": " + what,
                why);
    }

    private String fileName() {
        String name = group.name().replaceAll("[^A-Za-z0-9,_-]", "_");
        return "rank" + group.worldRank() + "." + name + "." + group.backend() + ".json";
    }

    private String json(JcclException failure) {
        long now = System.nanoTime();
        JsonText json = new JsonText();
        json.beginObject(null);
        json.field("version", "jccl 1").field("rank", group.worldRank());
        json.field("time_written_ns", now + epochNanos);
        json.beginObject("pg_config").beginObject(group.name());
        json.field("name", group.name())
                .field("desc", group.backend())
                .field("ranks", group.worldRanks().toString());
        json.endObject().endObject();
        json.beginObject("pg_status").beginObject(group.name());
        json.field("last_enqueued_collective", last(State.SCHEDULED));
        json.field("last_started_collective", last(State.STARTED));
        json.field("last_completed_collective", last(State.COMPLETED));
        json.endObject().endObject();
        if (failure != null) {
            json.field("failure", failure.getMessage());
        }
        json.beginArray("entries");
        for (long id = Math.max(0, recorded - CAPACITY); id < recorded; id++) {
            write(ring[(int) (id % CAPACITY)], json);
        }
        json.endArray().beginArray("waits");
        for (Wait wait : waits) {
            json.beginObject(null).field("thread_name", wait.thread);
            json.field("collective_seq_id", wait.collective ? wait.sequence : -1);
            json.field("p2p_seq_id", wait.collective ? -1 : wait.sequence);
            json.field("time_began_ns", wait.beganNanos + epochNanos);
            json.field("time_ended_ns", wait.endedNanos + epochNanos).endObject();
        }
        return json.endArray().endObject().toString();
    }

    private void write(Entry entry, JsonText json) {
        OperationRecord operation = entry.operation;
        boolean collective = operation.isCollective();
        boolean completed = entry.isCompleted();
        State state = completed ? State.COMPLETED : first;
        json.beginObject(null);
        json.field("record_id", entry.recordId);
        json.beginArray("process_group").value(group.name()).value(group.backend()).endArray();
        json.field("collective_seq_id", collective ? operation.sequence() : -1);
        json.field("p2p_seq_id", collective ? -1 : operation.sequence());
        json.field(
                "profiling_name",
                group.backend() + ":" + operation.kind().name().toLowerCase(Locale.ROOT));
        json.field("operation", operation.text()).field("bytes", operation.bytes());
        json.field("is_p2p", !collective);
        json.field("thread_name", entry.thread);
        json.field("state", state.toString());
        json.field("time_created_ns", operation.startNanos() + epochNanos);
        if (first == State.STARTED) {
            json.field("time_discovered_started_ns", operation.startNanos() + epochNanos);
        }
        if (completed) {
            json.field("time_discovered_completed_ns", operation.endNanos() + epochNanos);
            long nanos = operation.endNanos() - operation.startNanos();
            json.field("duration_ms", operation.deviceNanos().orElse(nanos) / 1e6);
        }
        json.field("timeout_ms", timeoutMillis).field("retired", completed).endObject();
    }

    /** Returns the greatest sequence of a collective that has reached a state, or -1. */
    private long last(State reached) {
        long last = -1;
        for (Entry entry : ring) {
            if (entry != null && entry.operation.isCollective()) {
                State state = entry.isCompleted() ? State.COMPLETED : first;
                if (state.compareTo(reached) >= 0) {
                    last = Math.max(last, entry.operation.sequence());
                }
            }
        }
        return last;
    }
}

package org.jccl.internal.operation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.jccl.FailureContext;
import org.jccl.JcclException;
import org.jccl.internal.json.JsonText;

/**
 * The last operations of one group on one backend, kept in a ring and written to a file when the
 * group is closed or fails. Field names are those of PyTorch's flight recorder where it has them.
 *
 * <p>What the operations run as on a device is not seen, only when they were issued and when their
 * end was noticed; so operations of a device go from scheduled to completed.
 *
 * <p>Beside the operations it keeps when threads of the program were blocked for them. What such a
 * thread did in between was not communication, so a reader sees what overlapped.
 */
public final class FlightRecorder {

    /** Names the folder to write to; nothing is recorded without it. */
    public static final String FOLDER_VARIABLE = "JCCL_TRACE_DIR";

    /** As many as PyTorch keeps. */
    static final int CAPACITY = 2000;

    private static final Logger LOGGER = System.getLogger("org.jccl");

    /** Where an operation is. */
    public enum State {
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

    /** One operation, as text, because its object is reused. */
    static final class Entry {
        private long recordId;
        private String name;
        private String text;
        private boolean collective;
        private long sequence;
        private long bytes;
        private String thread;
        private State state;
        private long createdNanos;
        private long completedNanos;
    }

    /** A thread of the program that was blocked until an operation was over. */
    private record Wait(
            String thread, boolean collective, long sequence, long beganNanos, long endedNanos) {}

    private final Path folder;
    private final FailureContext group;
    private final int worldRank;
    private final String backend;
    private final String ranks;
    private final State first;
    private final long timeoutMillis;

    /** Makes times of this machine's steady clock comparable with other ranks'. */
    private final long epochNanos = nanosSince1970() - System.nanoTime();

    private final Entry[] ring = new Entry[CAPACITY];
    private final ArrayDeque<Wait> waits = new ArrayDeque<>();
    private long recorded;
    private boolean written;

    /**
     * Creates an empty recorder.
     *
     * @param folder made when it is missing
     * @param group name and rank in it
     * @param worldRank this process's rank in the world
     * @param backend name of the backend
     * @param ranks the members' ranks in the world, as text
     * @param first state of an operation that was just handed to the library
     * @param timeoutMillis deadline of an operation
     */
    public FlightRecorder(
            Path folder,
            FailureContext group,
            int worldRank,
            String backend,
            String ranks,
            State first,
            long timeoutMillis) {
        this.folder = folder;
        this.group = group;
        this.worldRank = worldRank;
        this.backend = backend;
        this.ranks = ranks;
        this.first = first;
        this.timeoutMillis = timeoutMillis;
    }

    /** To the microsecond where the system tells: ranks of one host are compared by it. */
    private static long nanosSince1970() {
        Instant now = Instant.now();
        return TimeUnit.SECONDS.toNanos(now.getEpochSecond()) + now.getNano();
    }

    /** Notes an operation before the library is called with it. */
    synchronized void begin(Operation operation) {
        Entry entry = new Entry();
        entry.recordId = recorded;
        entry.name = backend + ":" + operation.kind.name().toLowerCase(Locale.ROOT);
        entry.text = operation.describe();
        entry.collective = operation.kind.isCollective();
        entry.sequence = operation.sequence;
        entry.bytes = operation.type == null ? 0 : operation.count * operation.type.size();
        entry.thread = Thread.currentThread().getName();
        entry.state = first;
        entry.createdNanos = System.nanoTime();
        ring[(int) (recorded++ % CAPACITY)] = entry;
        operation.entry = entry;
    }

    /** Notes that an operation is over. After a failure nothing is: what was stuck stays so. */
    synchronized void end(Operation operation) {
        Entry entry = operation.entry;
        operation.entry = null;
        if (entry != null && !written) {
            entry.state = State.COMPLETED;
            entry.completedNanos = System.nanoTime();
        }
    }

    /**
     * Notes that the calling thread was blocked for an operation until now.
     *
     * @param beganNanos since when, of {@link System#nanoTime()}
     */
    synchronized void waited(Operation operation, long beganNanos) {
        if (written) {
            return;
        }
        if (waits.size() == CAPACITY) {
            waits.remove();
        }
        waits.add(
                new Wait(
                        Thread.currentThread().getName(),
                        operation.kind.isCollective(),
                        operation.sequence,
                        beganNanos,
                        System.nanoTime()));
    }

    /**
     * Writes the file, once: a group that failed is closed later too.
     *
     * @param failure why the group failed, or null
     */
    synchronized void write(JcclException failure) {
        if (written) {
            return;
        }
        written = true;
        Path file = folder.resolve(fileName());
        try {
            Files.createDirectories(folder);
            Path unfinished = Files.createTempFile(folder, ".trace", ".part");
            Files.writeString(unfinished, json(failure));
            // Readers see a whole file or none.
            Files.move(unfinished, file, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException | UncheckedIOException e) {
            // The group's own end matters more than its record.
            LOGGER.log(Logger.Level.WARNING, group + ": can not write " + file, e);
        }
    }

    private String fileName() {
        String name = group.group().replaceAll("[^A-Za-z0-9,_-]", "_");
        return "rank" + worldRank + "." + name + "." + backend + ".json";
    }

    private String json(JcclException failure) {
        long now = System.nanoTime();
        JsonText json = new JsonText();
        json.beginObject(null);
        json.field("version", "jccl 1").field("rank", worldRank);
        json.field("time_written_ns", now + epochNanos);
        json.beginObject("pg_config").beginObject(group.group());
        json.field("name", group.group()).field("desc", backend).field("ranks", ranks);
        json.endObject().endObject();
        json.beginObject("pg_status").beginObject(group.group());
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
        json.beginObject(null);
        json.field("record_id", entry.recordId);
        json.beginArray("process_group").value(group.group()).value(backend).endArray();
        json.field("collective_seq_id", entry.collective ? entry.sequence : -1);
        json.field("p2p_seq_id", entry.collective ? -1 : entry.sequence);
        json.field("profiling_name", entry.name);
        json.field("operation", entry.text).field("bytes", entry.bytes);
        json.field("is_p2p", !entry.collective);
        json.field("thread_name", entry.thread);
        json.field("state", entry.state.toString());
        json.field("time_created_ns", entry.createdNanos + epochNanos);
        if (first == State.STARTED) {
            json.field("time_discovered_started_ns", entry.createdNanos + epochNanos);
        }
        boolean completed = entry.state == State.COMPLETED;
        if (completed) {
            json.field("time_discovered_completed_ns", entry.completedNanos + epochNanos);
            json.field("duration_ms", (entry.completedNanos - entry.createdNanos) / 1e6);
        }
        json.field("timeout_ms", timeoutMillis).field("retired", completed).endObject();
    }

    /** Greatest sequence of a collective that has come to a state, or -1. */
    private long last(State reached) {
        long last = -1;
        for (Entry entry : ring) {
            if (entry != null && entry.collective && entry.state.compareTo(reached) >= 0) {
                last = Math.max(last, entry.sequence);
            }
        }
        return last;
    }
}

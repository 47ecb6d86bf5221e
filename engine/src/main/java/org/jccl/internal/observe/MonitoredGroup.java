package org.jccl.internal.observe;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.internal.json.JsonText;
import org.jccl.internal.operation.OperationObserver;
import org.jccl.internal.operation.OperationRecord;

/** The state of one group on one backend, for the monitor. */
final class MonitoredGroup implements OperationObserver {

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

    private final GroupInfo info;
    private final Consumer<MonitoredGroup> onClose;

    // Guarded by the monitor of this object.
    private final Set<OperationRecord> running = new LinkedHashSet<>();
    private long operations;
    private long bytes;
    private long failed;
    private long started = -1;
    private long completed = -1;
    private String failure;

    MonitoredGroup(GroupInfo info, Consumer<MonitoredGroup> onClose) {
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

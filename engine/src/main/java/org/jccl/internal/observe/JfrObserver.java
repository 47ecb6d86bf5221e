package org.jccl.internal.observe;

import java.util.concurrent.TimeUnit;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.internal.operation.OperationObserver;
import org.jccl.internal.operation.OperationRecord;

/**
 * Writes events to JFR, which may be enabled and disabled at any time. Until JFR is first enabled
 * in this JVM, no event class is used, because the first one loads a hundred classes and takes a
 * tenth of a second. While JFR is disabled, {@code isEnabled} of an event is a method that returns
 * false, which the compiler removes. Only used if the module {@code jdk.jfr} is present.
 */
final class JfrObserver implements OperationObserver {

    private static final long STALL_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Shown as "N/A". */
    private static final long UNKNOWN = Long.MIN_VALUE;

    private final GroupInfo group;

    JfrObserver(GroupInfo group) {
        this.group = group;
    }

    @Override
    public boolean isOn() {
        return wasOn() && Events.areOn();
    }

    @Override
    public long stallNanos() {
        return STALL_NANOS;
    }

    private static boolean wasOn() {
        return jdk.jfr.FlightRecorder.isInitialized();
    }

    /** Loaded when JFR is enabled for the first time. */
    private static final class Events {

        private static final CollectiveEvent COLLECTIVE = new CollectiveEvent();
        private static final MessageEvent MESSAGE = new MessageEvent();
        private static final StallEvent STALL = new StallEvent();

        static boolean areOn() {
            return COLLECTIVE.isEnabled() || MESSAGE.isEnabled() || STALL.isEnabled();
        }
    }

    @Override
    public void started(OperationRecord operation) {
        if (!wasOn()) {
            return;
        }
        OperationEvent event =
                operation.isCollective() ? new CollectiveEvent() : new MessageEvent();
        if (event.isEnabled()) {
            event.begin();
            operation.attach(event);
        }
    }

    @Override
    public void ended(OperationRecord operation) {
        if (operation.attachment() instanceof OperationEvent event) {
            event.end();
            if (event.shouldCommit()) {
                fill(event, operation);
                event.commit();
            }
        }
    }

    private void fill(OperationEvent event, OperationRecord operation) {
        event.group = group.name();
        event.rank = group.rank();
        event.backend = group.backend();
        event.operation = operation.name();
        event.sequence = operation.sequence();
        event.dataType = operation.type() == null ? null : operation.type().toString();
        event.bytes = operation.bytes();
        event.deviceTime = operation.deviceNanos().orElse(UNKNOWN);
        event.issuer = operation.thread();
        event.failure = operation.failure() == null ? null : operation.failure().getMessage();
        if (event instanceof CollectiveEvent collective) {
            collective.root = operation.peer();
        } else if (event instanceof MessageEvent message) {
            message.peer = operation.peer();
        }
    }

    @Override
    public void stalled(OperationRecord operation, long nanos) {
        if (!wasOn()) {
            return;
        }
        StallEvent event = new StallEvent();
        if (event.shouldCommit()) {
            event.group = group.name();
            event.rank = group.rank();
            event.backend = group.backend();
            event.operation = operation.text();
            event.sequence = operation.sequence();
            event.soFar = nanos;
            event.commit();
        }
    }

    @Override
    public void groupMade(long nanos) {
        if (!wasOn()) {
            return;
        }
        GroupCreationEvent event = new GroupCreationEvent();
        if (event.shouldCommit()) {
            event.group = group.name();
            event.rank = group.rank();
            event.size = group.size();
            event.worldRank = group.worldRank();
            event.backend = group.backend();
            event.device = group.device().toString();
            event.took = nanos;
            event.commit();
        }
    }

    @Override
    public void groupFailed(JcclException cause) {
        if (!wasOn()) {
            return;
        }
        GroupFailureEvent event = new GroupFailureEvent();
        if (event.shouldCommit()) {
            event.group = group.name();
            event.rank = group.rank();
            event.backend = group.backend();
            event.kind = cause.getClass().getName();
            event.reason = cause.getMessage();
            event.commit();
        }
    }
}

package org.jccl.internal.observe;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.OperationInfo;
import org.jccl.OperationTime;
import org.jccl.internal.operation.OperationObserver;
import org.jccl.internal.operation.OperationRecord;

/** Queues the events of one group for one listener. */
final class ListenerObserver implements OperationObserver {

    /** Converts times of the monotonic clock to times of the calendar. */
    private static final long EPOCH_NANOS =
            TimeUnit.MILLISECONDS.toNanos(System.currentTimeMillis()) - System.nanoTime();

    private final GroupInfo group;
    private final ListenerThread thread;
    private final ListenerThread.Subscription to;

    ListenerObserver(GroupInfo group, ListenerThread thread, ListenerThread.Subscription to) {
        this.group = group;
        this.thread = thread;
        this.to = to;
    }

    @Override
    public boolean isOn() {
        return true;
    }

    @Override
    public long stallNanos() {
        return to.listener().stallNanos();
    }

    @Override
    public void groupMade(long nanos) {
        thread.add(to, () -> to.listener().called().groupMade(group, Duration.ofNanos(nanos)));
    }

    @Override
    public void started(OperationRecord operation) {
        boolean taken =
                thread.offerStart(
                        to, () -> to.listener().called().operationStarted(info(operation)));
        if (!taken) {
            operation.miss(to.index());
        }
    }

    @Override
    public void ended(OperationRecord operation) {
        if (!operation.isMissed(to.index())) {
            thread.add(to, () -> reportEnd(operation));
        }
    }

    private void reportEnd(OperationRecord operation) {
        OperationTime time =
                new OperationTime(
                        Duration.ofNanos(operation.endNanos() - operation.startNanos()),
                        operation.deviceNanos().map(Duration::ofNanos));
        JcclException failure = operation.failure();
        if (failure == null) {
            to.listener().called().operationCompleted(info(operation), time);
        } else {
            to.listener().called().operationFailed(info(operation), time, failure);
        }
    }

    @Override
    public void stalled(OperationRecord operation, long nanos) {
        if (!operation.isMissed(to.index())) {
            Duration soFar = Duration.ofNanos(nanos);
            thread.addNow(
                    to, () -> to.listener().called().operationStalled(info(operation), soFar));
        }
    }

    @Override
    public void groupFailed(JcclException cause) {
        thread.addNow(to, () -> to.listener().called().groupFailed(group, cause));
    }

    @Override
    public void groupClosed() {
        thread.addNow(to, () -> to.listener().called().groupClosed(group));
    }

    private static OperationInfo info(OperationRecord operation) {
        return new OperationInfo(
                operation.group(),
                operation.name(),
                operation.isCollective(),
                operation.sequence(),
                operation.peer(),
                Optional.ofNullable(operation.type()),
                operation.bytes(),
                Instant.ofEpochSecond(0, EPOCH_NANOS + operation.startNanos()));
    }
}

package org.jccl.internal.operation;

import java.util.Arrays;
import java.util.List;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.spi.CleanUp;

/** All that observes one group on one backend. */
public final class Observers {

    private static final OperationObserver[] NOBODY = {};

    private final GroupInfo group;
    private final OperationObserver[] all;
    private final boolean seeWaits;

    private Observers(GroupInfo group, OperationObserver[] all) {
        this.group = group;
        this.all = all;
        this.seeWaits = Arrays.stream(all).anyMatch(OperationObserver::seesWaits);
    }

    /** What an engine has before it is given others. */
    static Observers none() {
        return new Observers(null, NOBODY);
    }

    /**
     * Observers of a group.
     *
     * @param group what they are told of
     * @param observers at most 32
     */
    public static Observers of(GroupInfo group, List<OperationObserver> observers) {
        return new Observers(group, observers.toArray(NOBODY));
    }

    /** Whether anybody wants to see operations that start now. */
    boolean isOn() {
        for (OperationObserver each : all) {
            if (each.isOn()) {
                return true;
            }
        }
        return false;
    }

    boolean seeWaits() {
        return seeWaits;
    }

    void waited(boolean collective, long sequence, long beganNanos) {
        for (OperationObserver each : all) {
            if (each.seesWaits()) {
                each.waited(collective, sequence, beganNanos);
            }
        }
    }

    void started(Operation operation) {
        OperationRecord started = new OperationRecord(group, operation);
        operation.observed = started;
        for (OperationObserver each : all) {
            each.started(started);
        }
    }

    void ended(OperationRecord operation) {
        for (OperationObserver each : all) {
            each.ended(operation);
        }
    }

    /** Who has not been told yet that an operation runs for so long, is. */
    void lookForStall(OperationRecord operation, long nanos) {
        for (int i = 0; i < all.length; i++) {
            if (nanos > all[i].stallNanos() && operation.tellStall(i)) {
                all[i].stalled(operation, nanos);
            }
        }
    }

    public void groupMade(long nanos) {
        for (OperationObserver each : all) {
            CleanUp.run(group.name(), () -> each.groupMade(nanos));
        }
    }

    public void groupFailed(JcclException cause) {
        for (OperationObserver each : all) {
            CleanUp.run(group.name(), () -> each.groupFailed(cause));
        }
    }

    public void groupClosed() {
        for (OperationObserver each : all) {
            CleanUp.run(group.name(), each::groupClosed);
        }
    }
}

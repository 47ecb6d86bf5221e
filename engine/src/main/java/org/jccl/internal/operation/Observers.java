package org.jccl.internal.operation;

import java.util.Arrays;
import java.util.List;
import org.jccl.GroupInfo;
import org.jccl.JcclException;
import org.jccl.spi.CleanUp;

/**
 * The observers of one group on one backend. An exception of an observer, for instance because no
 * memory is left, is logged and has no other effect. The calls for single operations use no lambda,
 * which could itself fail without memory.
 */
public final class Observers {

    private static final OperationObserver[] NONE = {};

    private final GroupInfo group;
    private final OperationObserver[] all;
    private final boolean seeWaits;

    private Observers(GroupInfo group, OperationObserver[] all) {
        this.group = group;
        this.all = all;
        this.seeWaits = Arrays.stream(all).anyMatch(OperationObserver::seesWaits);
    }

    /** Returns the observers of a new engine. */
    static Observers none() {
        return new Observers(null, NONE);
    }

    /**
     * Returns the observers of a group.
     *
     * @param observers at most 32
     */
    public static Observers of(GroupInfo group, List<OperationObserver> observers) {
        return new Observers(group, observers.toArray(NONE));
    }

    /** Returns whether an observer wants to see operations that start now. */
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

    void waiting(Operation operation, long beganNanos) {
        for (OperationObserver each : all) {
            if (each.seesWaits()) {
                try {
                    each.waiting(operation, beganNanos);
                } catch (RuntimeException | Error e) {
                    CleanUp.log(group.name(), e);
                }
            }
        }
    }

    void waited(boolean collective, long sequence, long beganNanos) {
        for (OperationObserver each : all) {
            if (each.seesWaits()) {
                try {
                    each.waited(collective, sequence, beganNanos);
                } catch (RuntimeException | Error e) {
                    CleanUp.log(group.name(), e);
                }
            }
        }
    }

    void started(Operation operation) {
        OperationRecord started = new OperationRecord(group, operation);
        operation.observed = started;
        for (OperationObserver each : all) {
            try {
                each.started(started);
            } catch (RuntimeException | Error e) {
                CleanUp.log(group.name(), e);
            }
        }
    }

    void ended(OperationRecord operation) {
        for (OperationObserver each : all) {
            try {
                each.ended(operation);
            } catch (RuntimeException | Error e) {
                CleanUp.log(group.name(), e);
            }
        }
    }

    /** Reports a stall once to each observer whose threshold has passed. */
    void lookForStall(OperationRecord operation, long nanos) {
        for (int i = 0; i < all.length; i++) {
            if (nanos > all[i].stallNanos() && operation.reportStall(i)) {
                try {
                    all[i].stalled(operation, nanos);
                } catch (RuntimeException | Error e) {
                    CleanUp.log(group.name(), e);
                }
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

    public void processEnds() {
        for (OperationObserver each : all) {
            CleanUp.run(group.name(), each::processEnds);
        }
    }

    public void groupClosed() {
        for (OperationObserver each : all) {
            CleanUp.run(group.name(), each::groupClosed);
        }
    }
}

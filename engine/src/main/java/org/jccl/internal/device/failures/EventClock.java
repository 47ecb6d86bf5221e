package org.jccl.internal.device.failures;

import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;
import org.jccl.JcclException;

/** What happens before a recorded event. Safe for use by several threads. */
public final class EventClock {

    /** Guarded by this. */
    private final VectorClock clock;

    EventClock(VectorClock clock) {
        this.clock = clock;
    }

    /** What another library has recorded: no failure is known to come before. */
    public static EventClock unknown() {
        return new EventClock(new VectorClock());
    }

    /** That of the operations of a timeline, up to a number. */
    public static EventClock after(Timeline timeline, long number) {
        VectorClock clock = new VectorClock();
        clock.add(timeline, number);
        return new EventClock(clock);
    }

    synchronized VectorClock copy() {
        return clock.copy();
    }

    /**
     * Waits for the event.
     *
     * @param wait waits so many milliseconds, and returns whether the event is complete
     * @throws JcclException the failure of a group that happens before the event; the event may not
     *     be complete then, if the library does not abort its operations
     */
    public void synchronize(LongPredicate wait) {
        query(() -> StreamClocks.await(wait, this::report));
    }

    /**
     * Asks whether the event is complete.
     *
     * @param isDone asks the device
     * @throws JcclException if it is, the failure of a group that happens before the event
     */
    public boolean query(BooleanSupplier isDone) {
        try {
            if (!isDone.getAsBoolean()) {
                return false;
            }
        } catch (JcclException e) {
            checkFailure();
            throw e;
        }
        clock.askLibraries();
        synchronized (this) {
            clock.ended();
        }
        checkFailure();
        return true;
    }

    /** Throws the failure, if there is one already, of a group that happens before the event. */
    public void checkFailure() {
        JcclException failure = report();
        if (failure != null) {
            throw failure.forCaller();
        }
    }

    private synchronized JcclException report() {
        return clock.report(true, null);
    }
}

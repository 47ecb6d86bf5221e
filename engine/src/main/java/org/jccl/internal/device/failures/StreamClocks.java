package org.jccl.internal.device.failures;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import org.jccl.Device;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.internal.engine.GroupFailure;

/**
 * The clocks of a device's streams: which operations happen before the end of each stream. Streams
 * are known by native handle, since several objects may stand for one. Safe for use by several
 * threads.
 */
public final class StreamClocks {

    /** Handle of a device's default stream. */
    public static final long DEFAULT = 0;

    /** How long to wait for a stream or an event before failures are checked again. */
    private static final long CHECK_MILLIS = 500;

    private static final Map<Device, StreamClocks> BY_DEVICE = new ConcurrentHashMap<>();

    private record Known(long stream, VectorClock clock) {}

    /**
     * Few: a program has a handful of streams, and only the ones that wait for operations are here.
     * A call of a collective uses no iterator, which would be garbage.
     */
    private final List<Known> streams = new ArrayList<>();

    /** Operations that graphs have captured: any stream may run them. */
    private final VectorClock captured = new VectorClock();

    /** Streams that the device orders with its default stream, which is 0. */
    private final Set<Long> withDefault = new HashSet<>();

    private final List<GroupOrder> groups = new ArrayList<>();

    private StreamClocks() {}

    /** The clocks of an accelerator. */
    public static StreamClocks of(Device device) {
        return BY_DEVICE.computeIfAbsent(device, any -> new StreamClocks());
    }

    static Collection<StreamClocks> all() {
        return BY_DEVICE.values();
    }

    /**
     * Waits for a stream.
     *
     * @param stream handle
     * @param wait waits so many milliseconds, and returns whether the stream is idle
     * @throws JcclException the failure of a group that happens before; the stream may not be idle
     *     then, if the library does not abort its operations
     */
    public void synchronize(long stream, LongPredicate wait) {
        query(stream, () -> await(wait, () -> report(stream, true)));
    }

    /** A failure ends the wait a little later, because a library may not abort its operations. */
    static boolean await(LongPredicate wait, Supplier<JcclException> failed) {
        JcclException failure = null;
        while (!wait.test(CHECK_MILLIS)) {
            if (failure != null) {
                throw failure.forCaller();
            }
            failure = failed.get();
        }
        if (failure != null) {
            throw failure.forCaller(); // It counts as reported by now.
        }
        return true;
    }

    /**
     * Asks whether a stream is idle. A stream with no operation before it throws no failure.
     *
     * @param stream handle
     * @param isDone asks the device
     * @throws JcclException if it is, the failure of a group that happens before
     */
    public boolean query(long stream, BooleanSupplier isDone) {
        VectorClock before;
        synchronized (this) {
            VectorClock own = find(stream);
            boolean free = own == null && captured.isEmpty() && !hasOthersBefore(stream);
            before = free ? null : new VectorClock();
            if (own != null) {
                before.merge(own);
            }
        }
        if (before == null) {
            return isDone.getAsBoolean();
        }
        if (!explained(stream, isDone)) {
            return false;
        }
        before.askLibraries();
        before.ended();
        throwFailure(stream);
        return true;
    }

    /**
     * Waits for a stream on behalf of a caller that reads no results: only a wait that fails throws
     * the failure of a group.
     *
     * @param stream handle
     * @param wait waits so many milliseconds, and returns whether the stream is idle
     * @throws JcclException if the wait does, the failure of a group that happens before, if there
     *     is one
     */
    public void await(long stream, LongPredicate wait) {
        explained(stream, () -> await(wait, () -> report(stream, true)));
    }

    /** The failure of a group says more than the error of a device on which it was aborted. */
    private boolean explained(long stream, BooleanSupplier question) {
        try {
            return question.getAsBoolean();
        } catch (JcclException e) {
            throwFailure(stream);
            throw e;
        }
    }

    private void throwFailure(long stream) {
        JcclException failure = report(stream, true);
        if (failure != null) {
            throw failure.forCaller();
        }
    }

    synchronized JcclException report(long stream, boolean again) {
        VectorClock own = find(stream);
        JcclException failure = own == null ? null : own.report(again, null);
        failure = captured.report(again, failure);
        for (int i = 0; i < streams.size(); i++) {
            Known known = streams.get(i);
            if (isBefore(known.stream, stream)) {
                failure = known.clock.report(again, failure);
            }
        }
        return failure;
    }

    /**
     * Whether an operation is known to have succeeded, or may happen before the end of a stream: if
     * the stream waits for an operation of another group, all that comes before any operation of
     * that group counts.
     *
     * @param stream handle
     * @param number of the operation on its timeline
     */
    public synchronized boolean isAfter(long stream, Timeline timeline, long number) {
        if (timeline.hasSucceeded(number)) {
            return true;
        }
        VectorClock all = new VectorClock();
        for (Known known : streams) {
            if (known.stream == stream || isBefore(known.stream, stream)) {
                all.merge(known.clock);
            }
        }
        Set<GroupOrder> followed = new HashSet<>();
        while (!all.has(timeline, number)) {
            List<GroupOrder> next =
                    groups.stream()
                            .filter(group -> group.isIn(all) && followed.add(group))
                            .toList();
            if (next.isEmpty()) {
                return false;
            }
            next.forEach(group -> group.mergeBefore(all));
        }
        return true;
    }

    /** The clock of an event that is about to be recorded on a stream. */
    public synchronized EventClock recorded(long stream) {
        VectorClock own = find(stream);
        VectorClock clock = own == null ? new VectorClock() : own.copy();
        clock.merge(captured);
        for (Known known : streams) {
            if (isBefore(known.stream, stream)) {
                clock.merge(known.clock);
            }
        }
        return new EventClock(clock);
    }

    /** A stream waits for an event. */
    public void waitFor(long stream, EventClock event) {
        VectorClock clock = event.copy();
        if (!clock.isEmpty()) {
            synchronized (this) {
                clockOf(stream).merge(clock);
            }
        }
    }

    /** The device orders a stream with its default stream. */
    public synchronized void orderedWithDefault(long stream) {
        withDefault.add(stream);
    }

    /** Whether the device orders a stream after another without an event. */
    private boolean isBefore(long other, long stream) {
        if (withDefault.isEmpty()) {
            return false;
        }
        return stream == DEFAULT && withDefault.contains(other)
                || other == DEFAULT && withDefault.contains(stream);
    }

    private boolean hasOthersBefore(long stream) {
        return streams.stream().anyMatch(known -> isBefore(known.stream, stream));
    }

    /** A stream is created or destroyed; its handle may have been or be that of another stream. */
    public synchronized void forget(long stream) {
        withDefault.remove(stream);
        streams.removeIf(known -> known.stream == stream);
    }

    /** A stream waits for the operations of a timeline, up to a number. */
    public synchronized void add(long stream, Timeline timeline, long number) {
        clockOf(stream).add(timeline, number);
    }

    /** All streams wait for the operations of a timeline, which a graph repeats. */
    public synchronized void addCaptured(Timeline timeline) {
        captured.add(timeline, VectorClock.REPEATED);
    }

    /** Merges all that happens before the end of a stream, without what graphs have captured. */
    void mergeUnreported(long stream, VectorClock into, GroupFailure own) {
        VectorClock all = find(stream);
        if (all != null) {
            into.mergeUnreported(all, own);
        }
        for (int i = 0; i < streams.size(); i++) {
            Known known = streams.get(i);
            if (isBefore(known.stream, stream)) {
                into.mergeUnreported(known.clock, own);
            }
        }
    }

    /** The failure of a group was reported to the program where a stream is current. */
    synchronized void reported(long stream, GroupFailure group) {
        VectorClock own = find(stream);
        if (own != null) {
            own.reported(group);
        }
        captured.reported(group);
    }

    /** Called before a stream is closed, while operations may run on it. */
    public void beforeClose(Stream stream) {
        List<GroupOrder> all;
        synchronized (this) {
            all = List.copyOf(groups);
        }
        all.forEach(group -> group.beforeClose(stream));
    }

    synchronized void add(GroupOrder group) {
        groups.add(group);
    }

    synchronized void remove(GroupOrder group) {
        groups.remove(group);
    }

    /** The open groups of the device; the caller has the monitor. */
    List<GroupOrder> groups() {
        return groups;
    }

    private VectorClock find(long stream) {
        for (int i = 0; i < streams.size(); i++) {
            Known known = streams.get(i);
            if (known.stream == stream) {
                return known.clock;
            }
        }
        return null;
    }

    private VectorClock clockOf(long stream) {
        VectorClock clock = find(stream);
        if (clock == null) {
            streams.forEach(known -> known.clock.removeEnded());
            streams.removeIf(known -> known.clock.isEmpty());
            clock = new VectorClock();
            streams.add(new Known(stream, clock));
        }
        return clock;
    }
}

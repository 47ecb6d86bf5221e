package org.jccl.internal.device;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import org.jccl.Device;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.internal.engine.GroupFailure;

/**
 * Remembers of the streams of a device which groups' operations they were ordered after, so that no
 * host thread takes what a failed one has left for a result: whoever waits for a stream or an event
 * through this API gets the failure. Streams are known by native handle, since several objects may
 * stand for one.
 *
 * <p>The host sees an end first and looks for a failure then, while a group fails first and lets go
 * of what is stuck then. So what has ended without a failure has ended well.
 *
 * <p>A failure is told at every wait until the group is closed or replaced, and at least once. Then
 * the program knows, and may use the stream for something new. Safe for use by several threads.
 */
public final class StreamOrders {

    /** Handle of a device's default stream. */
    static final long DEFAULT = 0;

    /** How long to wait for a stream or an event between two looks at failures. */
    private static final long LOOK_MILLIS = 500;

    private static final Map<Device, StreamOrders> BY_DEVICE = new ConcurrentHashMap<>();

    /** Few: a program has a handful of streams, and only those that wait for something are here. */
    private long[] handles = new long[4];

    private Dependencies[] streams = new Dependencies[4];
    private int count;

    /** What graphs have captured: any stream may run it. */
    private final Dependencies captured = new Dependencies();

    /** Those that the device keeps in order with its default stream, which is 0. */
    private final Set<Long> withDefault = new HashSet<>();

    private final List<StreamEngine> engines = new ArrayList<>();

    private StreamOrders() {}

    /**
     * Those of a device.
     *
     * @param device an accelerator
     * @return the orders
     */
    public static StreamOrders of(Device device) {
        return BY_DEVICE.computeIfAbsent(device, any -> new StreamOrders());
    }

    /**
     * Waits for a stream.
     *
     * @param stream handle
     * @param wait waits so many milliseconds, and tells whether the stream has come to its end
     * @throws JcclException the failure of a group that the stream was ordered after; the stream
     *     may not be at its end then, if the library does not let go of what it aborted
     */
    public void synchronize(long stream, LongPredicate wait) {
        query(stream, () -> await(wait, () -> tellFailure(stream, true)));
    }

    /** A library may not let go of what was aborted, so a failure ends the wait a little later. */
    private static boolean await(LongPredicate wait, Supplier<JcclException> failed) {
        JcclException failure = null;
        while (!wait.test(LOOK_MILLIS)) {
            if (failure != null) {
                throw failure;
            }
            failure = failed.get();
        }
        if (failure != null) {
            throw failure; // It counts as told by now.
        }
        return true;
    }

    /**
     * Asks whether a stream has come to its end.
     *
     * @param stream handle
     * @param isDone asks the device
     * @return its answer
     * @throws JcclException when it has, the failure of a group that the stream was ordered after
     */
    public boolean query(long stream, BooleanSupplier isDone) {
        Dependencies before;
        synchronized (this) {
            Dependencies all = find(stream);
            boolean free = all == null && captured.isEmpty() && !hasOthersBefore(stream);
            before = free ? null : new Dependencies();
            if (all != null) {
                before.addAll(all);
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
     * Waits for a stream for something that reads no results, so that only a wait that fails tells
     * of a failed group.
     *
     * @param stream handle
     * @param wait waits so many milliseconds, and tells whether the stream has come to its end
     * @throws JcclException when the wait does, the failure of a group that the stream was ordered
     *     after, if there is one
     */
    public void await(long stream, LongPredicate wait) {
        explained(stream, () -> await(wait, () -> tellFailure(stream, true)));
    }

    /** What fails on the device, after a group was given up, says less than why it was. */
    private boolean explained(long stream, BooleanSupplier question) {
        try {
            return question.getAsBoolean();
        } catch (JcclException e) {
            throwFailure(stream);
            throw e;
        }
    }

    private void throwFailure(long stream) {
        JcclException failure = tellFailure(stream, true);
        if (failure != null) {
            throw failure;
        }
    }

    private synchronized JcclException tellFailure(long stream, boolean again) {
        Dependencies all = find(stream);
        JcclException failure = all == null ? null : all.tellFailure(again, null);
        failure = captured.tellFailure(again, failure);
        for (int i = 0; i < count; i++) {
            if (isBefore(handles[i], stream)) {
                failure = streams[i].tellFailure(again, failure);
            }
        }
        return failure;
    }

    /**
     * What an event waits for that is about to be recorded.
     *
     * @param stream handle
     * @return to be given to {@link #waitFor} and {@link #query(Dependencies, BooleanSupplier)}
     */
    public synchronized Dependencies recorded(long stream) {
        Dependencies all = find(stream);
        Dependencies copy = all == null ? new Dependencies() : all.copy();
        copy.addAll(captured);
        for (int i = 0; i < count; i++) {
            if (isBefore(handles[i], stream)) {
                copy.addAll(streams[i]);
            }
        }
        return copy;
    }

    /**
     * Notes that a stream waits for an event.
     *
     * @param stream handle
     * @param event what the event waits for
     */
    public void waitFor(long stream, Dependencies event) {
        Dependencies copy;
        synchronized (event) {
            copy = event.copy();
        }
        if (!copy.isEmpty()) {
            synchronized (this) {
                place(stream).addAll(copy);
            }
        }
    }

    /**
     * Waits for an event.
     *
     * @param event what it waits for
     * @param wait waits so many milliseconds, and tells whether it is complete
     * @throws JcclException the failure of a group that it was ordered after; the event may not be
     *     complete then, if the library does not let go of what it aborted
     */
    public static void synchronize(Dependencies event, LongPredicate wait) {
        query(event, () -> await(wait, () -> tellFailure(event)));
    }

    /**
     * Asks whether an event is complete.
     *
     * @param event what it waits for
     * @param isDone asks the device
     * @return its answer
     * @throws JcclException when it is, the failure of a group that it was ordered after
     */
    public static boolean query(Dependencies event, BooleanSupplier isDone) {
        try {
            if (!isDone.getAsBoolean()) {
                return false;
            }
        } catch (JcclException e) {
            throwFailure(event);
            throw e;
        }
        event.askLibraries();
        synchronized (event) {
            event.ended();
        }
        throwFailure(event);
        return true;
    }

    /**
     * Looks at an event without waiting for it.
     *
     * @param event what it waits for
     * @throws JcclException the failure, if there is one already, of a group that it was ordered
     *     after
     */
    static void checkFailure(Dependencies event) {
        throwFailure(event);
    }

    private static void throwFailure(Dependencies event) {
        JcclException failure = tellFailure(event);
        if (failure != null) {
            throw failure;
        }
    }

    private static JcclException tellFailure(Dependencies event) {
        synchronized (event) {
            return event.tellFailure(true, null);
        }
    }

    /**
     * Notes that the device keeps a stream in order with its default stream.
     *
     * @param stream handle
     */
    public synchronized void orderedWithDefault(long stream) {
        withDefault.add(stream);
    }

    /** Whether the device has a stream wait for another without an event. */
    private boolean isBefore(long other, long stream) {
        if (withDefault.isEmpty()) {
            return false;
        }
        return stream == DEFAULT && withDefault.contains(other)
                || other == DEFAULT && withDefault.contains(stream);
    }

    private boolean hasOthersBefore(long stream) {
        for (int i = 0; i < count; i++) {
            if (isBefore(handles[i], stream)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Forgets a stream that is created or destroyed: another may have had its handle, or get it.
     *
     * @param stream handle
     */
    public synchronized void forget(long stream) {
        withDefault.remove(stream);
        for (int i = 0; i < count; i++) {
            if (handles[i] == stream) {
                remove(i);
                return;
            }
        }
    }

    /** Has a stream wait for what a group has in a lane, up to a number. */
    synchronized void add(long stream, Lane lane, long number) {
        place(stream).add(lane, number);
    }

    /** Has all streams wait for what a graph has captured. */
    synchronized void addCaptured(Lane lane) {
        captured.add(lane, Dependencies.EACH_TIME);
    }

    /**
     * Notes what an operation waits for that is about to be issued in the order of a stream.
     *
     * @param engine the operation's
     * @throws GroupAbortedException when there is a failure that the program has not been told of:
     *     the operation would spread what the failed one has left
     */
    synchronized void issue(long stream, StreamEngine engine) {
        JcclException untold = tellFailure(stream, false);
        if (untold != null) {
            throw new GroupAbortedException(
                    untold.context(),
                    untold.reason()
                            + "; a call on "
                            + engine.context
                            + " was not made, as its stream goes on with what that has left."
                            + " Close the group that failed, renew what the tensors hold and call"
                            + " again",
                    untold);
        }
        Dependencies all = find(stream);
        if (all != null) {
            engine.awaited().addUntold(all, engine.failure);
        }
        for (int i = 0; i < count; i++) {
            if (isBefore(handles[i], stream)) {
                engine.awaited().addUntold(streams[i], engine.failure);
            }
        }
    }

    /** The program has got a group's failure where a stream is current. */
    synchronized void told(long stream, GroupFailure group) {
        Dependencies all = find(stream);
        if (all != null) {
            all.told(group);
        }
        captured.told(group);
    }

    /** Called before a stream is closed, while operations may be under way on it. */
    void beforeClose(Stream stream) {
        List<StreamEngine> all;
        synchronized (this) {
            all = List.copyOf(engines);
        }
        all.forEach(engine -> engine.beforeClose(stream));
    }

    synchronized void addEngine(StreamEngine engine) {
        engines.add(engine);
    }

    synchronized void removeEngine(StreamEngine engine) {
        engines.remove(engine);
    }

    /** Those whose operations an engine's own were issued after, also by way of others. */
    static Collection<StreamEngine> before(StreamEngine last) {
        List<StreamEngine> next = directlyBefore(last);
        if (next.isEmpty()) {
            return next;
        }
        Set<StreamEngine> found = new HashSet<>();
        while (!next.isEmpty()) {
            StreamEngine engine = next.remove(next.size() - 1);
            if (engine != last && found.add(engine)) {
                next.addAll(directlyBefore(engine));
            }
        }
        return found;
    }

    private static List<StreamEngine> directlyBefore(StreamEngine engine) {
        Dependencies awaited;
        synchronized (engine.orders()) {
            engine.awaited().forgetEnded();
            if (engine.awaited().isEmpty()) {
                return Collections.emptyList(); // whose iterator is no garbage
            }
            awaited = engine.awaited().copy();
        }
        List<StreamEngine> before = new ArrayList<>();
        for (StreamOrders orders : BY_DEVICE.values()) {
            synchronized (orders) {
                orders.engines.stream()
                        .filter(other -> awaited.has(other.failure))
                        .forEach(before::add);
            }
        }
        return before;
    }

    /** The engines with operations that wait for those of a group. */
    static List<StreamEngine> waitingFor(GroupFailure group) {
        List<StreamEngine> waiting = new ArrayList<>();
        for (StreamOrders orders : BY_DEVICE.values()) {
            synchronized (orders) {
                orders.engines.stream()
                        .filter(engine -> engine.failure != group)
                        .filter(engine -> engine.awaited().has(group))
                        .forEach(waiting::add);
            }
        }
        return waiting;
    }

    private Dependencies find(long stream) {
        for (int i = 0; i < count; i++) {
            if (handles[i] == stream) {
                return streams[i];
            }
        }
        return null;
    }

    private Dependencies place(long stream) {
        Dependencies known = find(stream);
        if (known != null) {
            return known;
        }
        forgetIdle();
        if (count == handles.length) {
            handles = Arrays.copyOf(handles, 2 * count);
            streams = Arrays.copyOf(streams, 2 * count);
        }
        handles[count] = stream;
        streams[count] = new Dependencies();
        return streams[count++];
    }

    private void forgetIdle() {
        for (int i = count - 1; i >= 0; i--) {
            streams[i].forgetEnded();
            if (streams[i].isEmpty()) {
                remove(i);
            }
        }
    }

    private void remove(int i) {
        count--;
        handles[i] = handles[count];
        streams[i] = streams[count];
        streams[count] = null;
    }
}

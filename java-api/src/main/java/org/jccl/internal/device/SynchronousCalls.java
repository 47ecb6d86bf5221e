package org.jccl.internal.device;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jccl.Device;
import org.jccl.Event;
import org.jccl.JcclException;
import org.jccl.Stream;
import org.jccl.UsageException;
import org.jccl.internal.backend.DeviceRuntimes;
import org.jccl.internal.device.failures.StreamClocks;
import org.jccl.internal.device.failures.Timeline;
import org.jccl.internal.engine.GroupFailure;
import org.jccl.internal.operation.MemoryHolds;
import org.jccl.internal.operation.Operation;
import org.jccl.internal.operation.OperationRecord;
import org.jccl.internal.operation.RunningOperations;
import org.jccl.spi.CleanUp;
import org.jccl.spi.DeviceRuntime;

/**
 * Follows what synchronous calls have enqueued on callers' streams. Such a call records no event.
 * Instead, each tick of the watchdog has one recorded on every stream that had calls since its last
 * mark was passed. The newest of these calls then counts as running until the stream passes the
 * mark, so that it has a deadline from there on, and closing waits for it. The memory of all of
 * them is held until then: not every vendor's free waits for what still uses it.
 *
 * <p>Recording blocks while the stream has no room for more, and so for a call that is stuck, which
 * the watchdog is to end. So another thread records, and the call counts as running before.
 *
 * <p>Who closes a stream records a last mark on it. A stream that captures a graph is not marked.
 */
final class SynchronousCalls implements AutoCloseable {

    private static final System.Logger LOGGER = System.getLogger("org.jccl");

    /**
     * A native stream that had calls. What has no lock of its own is guarded by {@link #following}.
     */
    private static final class Caller {
        /** The one that was used last, of those with one native handle. */
        private volatile Stream stream;

        /** The calls on it, and how many there were; guarded by the outer monitor. */
        private final Timeline timeline;

        private long calls;

        /** The newest call that no mark covers, or null; guarded by the outer monitor. */
        private Operation newest;

        /** Those before it that somebody observes; guarded by the outer monitor. */
        private final List<OperationRecord> earlier = new ArrayList<>();

        /** Memory of all that no mark covers; guarded by the outer monitor. */
        private final MemoryHolds memory = new MemoryHolds();

        /** The newest call that the mark covers while the stream has not passed it, or null. */
        private Operation marked;

        private long markedCalls;

        /** Those before it that somebody observes. */
        private final List<OperationRecord> markedEarlier = new ArrayList<>();

        private final MemoryHolds markedMemory = new MemoryHolds();

        /** Made when it is first needed. */
        private Event mark;

        /** Number of the newest mark; guarded by this object, as what follows. */
        private int marks;

        private boolean recorded;

        /** Why it was not recorded, or null. */
        private JcclException notRecorded;

        /** Threads that record. */
        private int recording;

        Caller(Stream stream, Timeline timeline) {
            this.stream = stream;
            this.timeline = timeline;
        }

        synchronized boolean isIdle() {
            return newest == null && marked == null && recording == 0;
        }

        synchronized int beginMark() {
            recorded = false;
            notRecorded = null;
            recording++;
            return ++marks;
        }

        synchronized void endMark(int number, JcclException problem) {
            recording--;
            if (number == marks) {
                recorded = problem == null;
                notRecorded = problem;
            }
        }

        /** Whether the newest mark is on the stream; throws why it is not, if it can not be. */
        synchronized boolean isRecorded() {
            if (notRecorded != null) {
                throw notRecorded;
            }
            return recorded;
        }

        void close() {
            if (mark != null && isIdle()) {
                // A device that failed may refuse it, which must not keep a group from closing.
                CleanUp.run("calls on a stream of " + mark.device(), mark::close);
            }
        }
    }

    /** How long to wait for a stream between two looks at the group's failure. */
    private static final long LOOK_MILLIS = 500;

    private final DeviceRuntime runtime;
    private final Device device;
    private final RunningOperations running;
    private final GroupFailure failure;
    private final StreamClocks clocks;

    /** Few: a program has a handful of streams. */
    private final List<Caller> callers = new ArrayList<>();

    /** Keeps the watchdog and closing threads apart; callers of operations never wait for it. */
    private final Object following = new Object();

    /** One as a rule, and more while it is blocked. */
    private final Executor recorders = recorders();

    SynchronousCalls(
            DeviceRuntime runtime, Device device, RunningOperations running, GroupFailure failure) {
        this.runtime = runtime;
        this.device = device;
        this.running = running;
        this.failure = failure;
        this.clocks = StreamClocks.of(device);
    }

    private static Executor recorders() {
        return new ThreadPoolExecutor(
                0,
                Integer.MAX_VALUE,
                1,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                task -> {
                    Thread made = new Thread(task, "jccl-marks");
                    made.setDaemon(true);
                    return made;
                });
    }

    /** Takes over an operation that was enqueued on a stream of this device. */
    synchronized void add(Operation operation, Stream stream) {
        operation.awaited = true;
        Caller caller = caller(stream);
        if (caller.newest != null) {
            if (caller.newest.isObserved()) {
                caller.earlier.add(running.takeObserved(caller.newest));
            }
            running.giveBack(caller.newest);
        }
        caller.newest = operation;
        caller.memory.takeFrom(operation);
        caller.calls++;
        clocks.add(stream.handle(), caller.timeline, caller.calls);
    }

    private Caller caller(Stream stream) {
        for (int i = 0; i < callers.size(); i++) {
            Caller caller = callers.get(i);
            if (caller.stream == stream) {
                return caller;
            }
            if (caller.stream.handle() == stream.handle()) {
                // Another wrapper, or a new stream where an old one was.
                caller.stream = stream;
                return caller;
            }
        }
        Caller caller = new Caller(stream, new Timeline(failure));
        callers.add(caller);
        return caller;
    }

    /**
     * Looks at each stream once: marks it, or sees whether it has passed its mark.
     *
     * @throws JcclException why one can not be followed, or what failed there, where the device
     *     goes on after failures and the group has not failed
     */
    void follow() {
        synchronized (following) {
            used().forEach(this::follow);
        }
    }

    private void follow(Caller caller) {
        Stream stream = caller.stream;
        try {
            // Not by the event, which tells those who ask of failures.
            if (caller.marked != null
                    && caller.isRecorded()
                    && runtime.queryEvent(caller.mark.handle())) {
                NativeStream.given(stream).checkStream();
                caller.timeline.ended(caller.markedCalls);
                end(caller);
            }
            if (caller.marked == null && !stream.isCapturing()) {
                mark(caller, stream);
            }
        } catch (UsageException e) {
            // Its owner closed the stream, and what was enqueued still runs.
            forget(caller, stream);
        } catch (JcclException e) {
            if (runtime.continuesAfterFailures() && !failure.isSet()) {
                throw e;
            }
            LOGGER.log(
                    System.Logger.Level.WARNING,
                    "calls on a stream of {0} have no deadline, because it can not be followed: {1}",
                    device,
                    e.getMessage());
            forget(caller, stream);
        }
    }

    /**
     * Looks at each stream without waiting for it.
     *
     * @throws JcclException what a call has failed with on the device
     */
    void checkStreams() {
        streams().forEach(NativeStream::checkStream);
    }

    private synchronized List<NativeStream> streams() {
        return callers.isEmpty()
                ? Collections.emptyList() // whose iterator is no garbage
                : callers.stream().map(caller -> NativeStream.given(caller.stream)).toList();
    }

    private synchronized List<Caller> used() {
        callers.stream().filter(Caller::isIdle).forEach(Caller::close);
        callers.removeIf(Caller::isIdle);
        return List.copyOf(callers);
    }

    private void mark(Caller caller, Stream stream) {
        requireMark(caller);
        Operation newest = takeNewest(caller, stream);
        if (newest != null) {
            caller.marked = newest;
            running.watch(newest);
            int number = caller.beginMark();
            recorders.execute(() -> record(caller, stream, number));
        }
    }

    private void requireMark(Caller caller) {
        if (caller.mark == null) {
            caller.mark = NativeEvent.create(device, false);
        }
    }

    private void record(Caller caller, Stream stream, int number) {
        JcclException problem = null;
        try {
            runtime.preparePollingThread(device.index());
            caller.mark.record(stream);
        } catch (JcclException e) {
            problem = e;
        }
        caller.endMark(number, problem);
    }

    /**
     * Marks the last calls on a stream that is about to be closed, after which it can not be
     * marked. May block, as any call on a stream that is full.
     */
    void markLast(Stream stream) {
        Caller caller;
        int number;
        synchronized (following) {
            caller = callerOf(stream);
            if (caller == null || stream.isCapturing()) {
                return;
            }
            requireMark(caller);
            Operation older = caller.marked;
            Operation newest = takeNewest(caller, stream);
            if (newest != null) {
                caller.marked = newest;
                running.watch(newest);
                if (older != null) {
                    // The mark moves behind both.
                    if (older.isObserved()) {
                        caller.markedEarlier.add(running.takeObserved(older));
                    }
                    running.endAndGiveBack(older, null);
                }
            } else if (older == null || caller.isRecorded()) {
                return;
            }
            number = caller.beginMark();
        }
        record(caller, stream, number);
    }

    /**
     * Waits for the calls on a stream that is about to be closed, or until the group has failed.
     *
     * @throws JcclException what one of them has failed with on the device
     */
    void awaitLast(Stream stream) {
        if (callerOf(stream) != null) {
            DeviceRuntimes.enterForQuestion(runtime, device);
            boolean ended = false;
            while (!ended && !failure.isSet()) {
                ended = runtime.awaitStream(stream.handle(), LOOK_MILLIS);
            }
        }
    }

    private synchronized Caller callerOf(Stream stream) {
        for (Caller caller : callers) {
            if (caller.stream == stream) {
                return caller;
            }
        }
        return null;
    }

    /** The newest call, unless it went to another stream with the same handle meanwhile. */
    private synchronized Operation takeNewest(Caller caller, Stream stream) {
        if (caller.stream != stream) {
            return null;
        }
        Operation newest = caller.newest;
        caller.newest = null;
        caller.markedCalls = caller.calls;
        caller.markedEarlier.addAll(caller.earlier);
        caller.earlier.clear();
        caller.memory.moveTo(caller.markedMemory);
        return newest;
    }

    private void forget(Caller caller, Stream stream) {
        Operation newest = takeNewest(caller, stream);
        // Nobody will see when the stream has passed the calls.
        caller.markedMemory.retain();
        end(caller);
        if (newest != null) {
            tellEarlier(caller);
            running.reportEnd(newest, failure.get());
            running.giveBack(newest);
        }
    }

    private void end(Caller caller) {
        Operation ended = caller.marked;
        if (ended != null) {
            caller.marked = null;
            tellEarlier(caller);
            caller.markedMemory.release();
            running.endAndGiveBack(ended, failure.get());
        }
    }

    private void tellEarlier(Caller caller) {
        JcclException cause = failure.get();
        caller.markedEarlier.forEach(each -> running.ended(each, cause));
        caller.markedEarlier.clear();
    }

    /** Destroys the marks; all must have been passed. */
    @Override
    public void close() {
        synchronized (following) {
            synchronized (this) {
                callers.forEach(Caller::close);
                callers.clear();
            }
        }
    }
}

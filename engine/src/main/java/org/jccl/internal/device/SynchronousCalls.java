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
import org.jccl.FailureContext;
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
 * The synchronous calls on callers' streams, which record no event of their own. At each tick of
 * the watchdog, a sentinel event is recorded on every stream that had calls since its last sentinel
 * completed. The newest of these calls then counts as running until the sentinel completes, so that
 * it has a deadline, and closing waits for it. The memory of all of them is retained until then,
 * because not every vendor's free waits for operations that use it.
 *
 * <p>Recording blocks while the queue of the stream is full, and so behind a stuck call that the
 * watchdog must end. Therefore another thread records, and the call counts as running before.
 *
 * <p>A thread that closes a stream records a last sentinel on it. There are no sentinels on a
 * stream that captures a graph.
 */
final class SynchronousCalls implements AutoCloseable {

    private static final System.Logger LOGGER = System.getLogger("org.jccl");

    /** A native stream that had calls. Guarded by {@link #polling}, except where noted. */
    private static final class CallerStream {
        /** The one that was used last, of those with one native handle. */
        private volatile Stream stream;

        /** The calls on it, and how many there were; guarded by the outer monitor. */
        private final Timeline timeline;

        private long calls;

        /** What the last calls use, by their numbers; guarded by the outer monitor. */
        private final Operation[] recent = new Operation[RECENT];

        /** The newest call that no sentinel covers, or null; guarded by the outer monitor. */
        private Operation newest;

        /** Earlier calls that have observers; guarded by the outer monitor. */
        private final List<OperationRecord> earlier = new ArrayList<>();

        /** Memory of all calls that no sentinel covers; guarded by the outer monitor. */
        private final MemoryHolds memory = new MemoryHolds();

        /** The newest call that the sentinel covers until it completes, or null. */
        private Operation covered;

        private long coveredCalls;

        /** Earlier calls that have observers. */
        private final List<OperationRecord> coveredEarlier = new ArrayList<>();

        private final MemoryHolds coveredMemory = new MemoryHolds();

        /** Made when it is first needed. */
        private Event sentinel;

        /** Number of the newest sentinel; guarded by this object, like the fields below. */
        private int recordings;

        private boolean recorded;

        /** Why it was not recorded, or null. */
        private JcclException recordingFailure;

        /** Threads that record. */
        private int recording;

        /** Whether no thread could be started to record the newest sentinel. */
        private boolean unstarted;

        CallerStream(Stream stream, Timeline timeline) {
            this.stream = stream;
            this.timeline = timeline;
        }

        void remember(Operation operation) {
            int slot = (int) (calls % RECENT);
            if (recent[slot] == null) {
                recent[slot] = new Operation();
            }
            recent[slot].placeAs(operation);
            recent[slot].sequence = operation.sequence;
        }

        synchronized boolean isIdle() {
            return newest == null && covered == null && recording == 0;
        }

        synchronized int beginRecording() {
            recorded = false;
            recordingFailure = null;
            recording++;
            return ++recordings;
        }

        synchronized void endRecording(int number, JcclException problem) {
            recording--;
            unstarted = false;
            if (number == recordings) {
                recorded = problem == null;
                recordingFailure = problem;
            }
        }

        /** The thread that was to record the newest sentinel could not be started. */
        synchronized void notStarted() {
            recording--;
            unstarted = true;
        }

        synchronized boolean isUnstarted() {
            return unstarted;
        }

        /** Whether the newest sentinel is on the stream; throws the failure of recording it. */
        synchronized boolean isRecorded() {
            if (recordingFailure != null) {
                throw recordingFailure;
            }
            return recorded;
        }

        void close() {
            if (sentinel != null && isIdle()) {
                // A device that failed may refuse it, which must not keep a group from closing.
                CleanUp.run("calls on a stream of " + sentinel.device(), sentinel::close);
            }
        }
    }

    /** How many calls on a stream are compared with uses of memory on other streams. */
    private static final int RECENT = 64;

    /** How long to wait for a stream before the group's failure is checked again. */
    private static final long CHECK_MILLIS = 500;

    private final DeviceRuntime runtime;
    private final Device device;
    private final RunningOperations running;
    private final GroupFailure failure;
    private final FailureContext group;
    private final StreamClocks clocks;

    /** Few: a program has a handful of streams. */
    private final List<CallerStream> callers = new ArrayList<>();

    /** Keeps the watchdog and closing threads apart; callers of operations never wait for it. */
    private final Object polling = new Object();

    /** One thread normally, and more while it is blocked. */
    private final Executor recorders = recorders();

    SynchronousCalls(
            DeviceRuntime runtime,
            Device device,
            RunningOperations running,
            GroupFailure failure,
            FailureContext group) {
        this.runtime = runtime;
        this.device = device;
        this.running = running;
        this.failure = failure;
        this.group = group;
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
                    Thread made = new Thread(task, "jccl-sentinels");
                    made.setDaemon(true);
                    return made;
                });
    }

    /** Takes over an operation that was enqueued on a stream of this device. */
    synchronized void add(Operation operation, Stream stream) {
        operation.awaited = true;
        CallerStream caller = caller(stream);
        if (caller.newest != null) {
            if (caller.newest.isObserved()) {
                caller.earlier.add(running.takeObserved(caller.newest));
            }
            running.giveBack(caller.newest);
        }
        caller.newest = operation;
        caller.memory.takeFrom(operation);
        caller.calls++;
        caller.remember(operation);
        clocks.add(stream.handle(), caller.timeline, caller.calls);
    }

    /**
     * Returns the use of a range of memory by one of the last calls on other streams, unless the
     * current stream waits for that call; or null. Waits of streams of other libraries are unknown.
     */
    FailureContext collision(NativeStream current, long start, long end, boolean writes, int size) {
        List<CallerStream> others = othersThan(current);
        for (CallerStream caller : others) {
            FailureContext found = collision(caller, current, start, end, writes, size);
            if (found != null
                    && !current.isCapturing()
                    && NativeStream.of(caller.stream).isBusy()) {
                return found;
            }
        }
        return null;
    }

    private synchronized List<CallerStream> othersThan(NativeStream current) {
        if (current.isForeign()) {
            return List.of();
        }
        return callers.stream()
                .filter(caller -> caller.stream.handle() != current.handle())
                .filter(caller -> !NativeStream.of(caller.stream).isForeign())
                .toList();
    }

    private synchronized FailureContext collision(
            CallerStream caller,
            NativeStream current,
            long start,
            long end,
            boolean writes,
            int size) {
        for (long number = caller.calls; number > Math.max(0, caller.calls - RECENT); number--) {
            Operation call = caller.recent[(int) (number % RECENT)];
            if (call.collides(start, end, writes, group.rank(), size)
                    && !clocks.isAfter(current.handle(), caller.timeline, number)) {
                return call.context(group);
            }
        }
        return null;
    }

    private CallerStream caller(Stream stream) {
        for (int i = 0; i < callers.size(); i++) {
            CallerStream caller = callers.get(i);
            if (caller.stream == stream) {
                return caller;
            }
            if (caller.stream.handle() == stream.handle()) {
                // Another wrapper, or a new stream where an old one was.
                caller.stream = stream;
                return caller;
            }
        }
        CallerStream caller = new CallerStream(stream, new Timeline(failure));
        callers.add(caller);
        return caller;
    }

    /**
     * Checks each stream once: records a sentinel, or sees whether that is complete.
     *
     * @throws JcclException the failure of an operation, or of asking, if the device continues
     *     after failures and the group has not failed
     */
    void poll() {
        synchronized (polling) {
            used().forEach(this::poll);
        }
    }

    private void poll(CallerStream caller) {
        Stream stream = caller.stream;
        try {
            // Not with Event.query, which reports failures of groups.
            if (caller.covered != null
                    && caller.isRecorded()
                    && runtime.queryEvent(caller.sentinel.handle())) {
                NativeStream.of(stream).checkStream();
                caller.timeline.ended(caller.coveredCalls);
                end(caller);
            } else if (caller.isUnstarted()) {
                startRecording(caller, stream);
            }
            if (caller.covered == null && !stream.isCapturing()) {
                recordSentinel(caller, stream);
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
                    "calls on a stream of {0} have no deadline, because the stream cannot be"
                            + " monitored: {1}",
                    device,
                    e.getMessage());
            forget(caller, stream);
        }
    }

    /** Throws a failure on a stream with calls; never waits. */
    void checkStreams() {
        streams().forEach(NativeStream::checkStream);
    }

    private synchronized List<NativeStream> streams() {
        return callers.isEmpty()
                ? Collections.emptyList() // whose iterator is no garbage
                : callers.stream().map(caller -> NativeStream.of(caller.stream)).toList();
    }

    private synchronized List<CallerStream> used() {
        callers.stream().filter(CallerStream::isIdle).forEach(CallerStream::close);
        callers.removeIf(CallerStream::isIdle);
        return List.copyOf(callers);
    }

    private void recordSentinel(CallerStream caller, Stream stream) {
        requireSentinel(caller);
        Operation newest = takeNewest(caller, stream);
        if (newest != null) {
            caller.covered = newest;
            running.watch(newest);
            startRecording(caller, stream);
        }
    }

    private void startRecording(CallerStream caller, Stream stream) {
        int number = caller.beginRecording();
        try {
            recorders.execute(() -> record(caller, stream, number));
        } catch (OutOfMemoryError e) {
            caller.notStarted(); // tried again at the next tick
        }
    }

    private void requireSentinel(CallerStream caller) {
        if (caller.sentinel == null) {
            caller.sentinel = NativeEvent.create(device, false);
        }
    }

    private void record(CallerStream caller, Stream stream, int number) {
        JcclException problem = null;
        try {
            runtime.preparePollingThread(device.index());
            caller.sentinel.record(stream);
        } catch (JcclException e) {
            problem = e;
        }
        caller.endRecording(number, problem);
    }

    /**
     * Marks the last calls on a stream that is about to be closed, after which it cannot be
     * covered. May block, as any call on a stream that is full.
     */
    void recordLastSentinel(Stream stream) {
        CallerStream caller;
        int number;
        synchronized (polling) {
            caller = callerOf(stream);
            if (caller == null || stream.isCapturing()) {
                return;
            }
            requireSentinel(caller);
            Operation older = caller.covered;
            Operation newest = takeNewest(caller, stream);
            if (newest != null) {
                caller.covered = newest;
                running.watch(newest);
                if (older != null) {
                    // The sentinel moves behind both.
                    if (older.isObserved()) {
                        caller.coveredEarlier.add(running.takeObserved(older));
                    }
                    running.endAndGiveBack(older, null);
                }
            } else if (older == null || caller.isRecorded()) {
                return;
            }
            number = caller.beginRecording();
        }
        record(caller, stream, number);
    }

    /**
     * Waits for the calls on a stream that is about to be closed, or until the group has failed.
     */
    void awaitLast(Stream stream) {
        if (callerOf(stream) != null) {
            DeviceRuntimes.setDeviceForQuery(runtime, device);
            boolean ended = false;
            while (!ended && !failure.isSet()) {
                ended = runtime.awaitStream(stream.handle(), CHECK_MILLIS);
            }
        }
    }

    private synchronized CallerStream callerOf(Stream stream) {
        for (CallerStream caller : callers) {
            if (caller.stream == stream) {
                return caller;
            }
        }
        return null;
    }

    /** The newest call, unless it went to another stream with the same handle meanwhile. */
    private synchronized Operation takeNewest(CallerStream caller, Stream stream) {
        if (caller.stream != stream) {
            return null;
        }
        Operation newest = caller.newest;
        caller.newest = null;
        caller.coveredCalls = caller.calls;
        caller.coveredEarlier.addAll(caller.earlier);
        caller.earlier.clear();
        caller.memory.moveTo(caller.coveredMemory);
        return newest;
    }

    private void forget(CallerStream caller, Stream stream) {
        Operation newest = takeNewest(caller, stream);
        // No sentinel will show when the stream has passed the calls.
        caller.coveredMemory.retain();
        end(caller);
        if (newest != null) {
            endEarlier(caller);
            running.reportEnd(newest, failure.get());
            running.giveBack(newest);
        }
    }

    private void end(CallerStream caller) {
        Operation ended = caller.covered;
        if (ended != null) {
            caller.covered = null;
            endEarlier(caller);
            caller.coveredMemory.release();
            running.endAndGiveBack(ended, failure.get());
        }
    }

    private void endEarlier(CallerStream caller) {
        JcclException cause = failure.get();
        caller.coveredEarlier.forEach(each -> running.ended(each, cause));
        caller.coveredEarlier.clear();
    }

    /** Destroys the recordings; all must have been passed. */
    @Override
    public void close() {
        synchronized (polling) {
            synchronized (this) {
                callers.forEach(CallerStream::close);
                callers.clear();
            }
        }
    }
}

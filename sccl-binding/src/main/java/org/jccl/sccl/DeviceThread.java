package org.jccl.sccl;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jccl.FailureContext;
import org.jccl.GroupAbortedException;
import org.jccl.JcclException;
import org.jccl.spi.Polling;

/**
 * The only thread that makes calls of the libraries for a device. It is a daemon that lasts as long
 * as the process.
 *
 * <p>The runtime of November 2024 remembers the device of each thread. When a thread that has set a
 * device ends, that runtime frees the record of the device, which all threads of the process share.
 * So no thread of a program and no thread that may end ever sets a device. The other threads hand
 * their calls over, in the order in which they arrive, and wait.
 *
 * <p>A call may never return. After the abort of a group, no thread waits longer than a grace
 * period for the call that is inside.
 */
final class DeviceThread {

    /** The interval at which a waiting thread checks whether it must give up. */
    private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private static final boolean MANY_CORES = Runtime.getRuntime().availableProcessors() > 2;

    /** As many polls of a volatile field as a thread makes before it sleeps, on larger machines. */
    private static final int SPINS = MANY_CORES ? 2000 : 0;

    /**
     * As many times a caller looks for the end of its call before it sleeps. On a small machine it
     * yields in between: most calls end in the time that it takes to sleep and to be woken.
     */
    private static final int LOOKS = MANY_CORES ? SPINS : 50;

    /** How long an asking thread waits for an answer at most. */
    private static final long ANSWER_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    /**
     * Reserves address space only. Libraries search the topology of large machines recursively, for
     * which the default of 1 MiB is too small.
     */
    private static final long STACK_BYTES = 64L << 20;

    /** A call, and when threads no longer wait for it. */
    private record Limit(long call, long nanos) {}

    private final int device;
    private final Thread thread;

    /** The calls that wait, oldest first. Written with the lock of this object. */
    private volatile DeviceCall oldest;

    /** Guarded by this object. */
    private DeviceCall newest;

    /** Set without the lock by asking threads. */
    private volatile boolean asked;

    /** Whether the thread sleeps until it is woken. */
    private volatile boolean asleep;

    /** The number of the call that is inside, or was inside last. */
    private volatile long number;

    /** Whether a call is inside. */
    private volatile boolean inside;

    /** The number of rounds of polls that have ended. */
    private volatile long rounds;

    /** The limit of the call that was inside when a group was aborted, or null. */
    private volatile Limit limit;

    private final Runnable enter;
    private final Runnable poll;

    private boolean entered;

    /**
     * Starts the thread.
     *
     * @param device index
     * @param enter makes the device current on this thread
     * @param poll asks the device how far it is; never throws
     */
    DeviceThread(int device, Runnable enter, Runnable poll) {
        this.device = device;
        this.enter = enter;
        this.poll = poll;
        this.thread = new Thread(null, this::work, "jccl-tpu-" + device, STACK_BYTES);
        thread.setDaemon(true);
        thread.start();
    }

    /** Makes calls on this thread and waits for them. Throws what they throw. */
    <T> T get(Supplier<T> calls) {
        if (isCurrent()) {
            return calls.get();
        }
        var call =
                new DeviceCall() {
                    private T result;

                    @Override
                    void run() {
                        result = calls.get();
                    }
                };
        call(call);
        return call.result;
    }

    /** Makes calls on this thread and waits for them. Throws what they throw. */
    void run(Runnable calls) {
        get(
                () -> {
                    calls.run();
                    return null;
                });
    }

    /**
     * Makes calls on this thread and waits for a limited time. Throws what they throw.
     *
     * @param timeout how long to wait; after that, no thread waits for these calls
     * @return false if the calls have not returned
     */
    boolean run(Runnable calls, Duration timeout) {
        DeviceCall call =
                new DeviceCall() {
                    @Override
                    void run() {
                        calls.run();
                    }
                };
        add(call);
        if (!await(call, System.nanoTime() + timeout.toNanos())) {
            if (call.state() == DeviceCall.State.RUNNING) {
                noteAbort(Duration.ZERO);
            }
            return false;
        }
        rethrow(call.takeFailure());
        return true;
    }

    boolean isCurrent() {
        return Thread.currentThread() == thread;
    }

    /**
     * Makes calls on this thread and waits for them. Throws what they throw.
     *
     * @throws GroupAbortedException if the thread is inside a call of an aborted group that does
     *     not return
     */
    void call(DeviceCall call) {
        if (isCurrent()) {
            call.run();
            return;
        }
        requireIdle(call);
        add(call);
        if (!await(call, Long.MAX_VALUE)) {
            throw stuck();
        }
        rethrow(call.takeFailure());
    }

    /** Throws if this thread is still inside the calls, for which other threads no longer wait. */
    void requireIdle(DeviceCall call) {
        if (call.state() != DeviceCall.State.IDLE) {
            throw stuck();
        }
    }

    private static void rethrow(Throwable thrown) {
        if (thrown instanceof JcclException known) {
            throw known.forCaller();
        }
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown != null) {
            throw (RuntimeException) thrown;
        }
    }

    private GroupAbortedException stuck() {
        return new GroupAbortedException(
                FailureContext.NONE,
                "tpu:"
                        + device
                        + " is blocked by a call of an aborted group, which does not return: start"
                        + " this process again");
    }

    private void add(DeviceCall call) {
        call.calledBy(Thread.currentThread());
        synchronized (this) {
            call.become(DeviceCall.State.QUEUED);
            call.setNext(null);
            if (oldest == null) {
                oldest = call;
            } else {
                newest.setNext(call);
            }
            newest = call;
        }
        wake();
    }

    private void wake() {
        if (asleep) {
            LockSupport.unpark(thread);
        }
    }

    /** Returns false if the calls have not returned when the wait must end. */
    private boolean await(DeviceCall call, long until) {
        for (int looks = 0; looks < LOOKS; looks++) {
            if (call.state() == DeviceCall.State.IDLE) {
                return true;
            }
            if (MANY_CORES) {
                Thread.onSpinWait();
            } else {
                Thread.yield();
            }
        }
        boolean interrupted = false;
        boolean returned = true;
        while (call.state() != DeviceCall.State.IDLE) {
            boolean over = until != Long.MAX_VALUE && System.nanoTime() - until >= 0;
            if ((over || isAbandoned()) && giveUp(call)) {
                returned = false;
                break;
            }
            LockSupport.parkNanos(call, SLICE_NANOS);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return returned;
    }

    /** Takes a call out of the queue; returns false if it has returned meanwhile. */
    private synchronized boolean giveUp(DeviceCall call) {
        if (call.state() == DeviceCall.State.QUEUED) {
            remove(call);
            call.end(null);
            return true;
        }
        return call.state() == DeviceCall.State.RUNNING;
    }

    private void remove(DeviceCall call) {
        if (oldest == call) {
            oldest = call.next();
            return;
        }
        DeviceCall before = oldest;
        while (before.next() != call) {
            before = before.next();
        }
        before.setNext(call.next());
        if (newest == call) {
            newest = before;
        }
    }

    /**
     * A group was aborted. From now on, threads wait no longer than the grace period for the call
     * that is inside.
     */
    void noteAbort(Duration grace) {
        limit = new Limit(number, System.nanoTime() + grace.toNanos());
    }

    /**
     * Returns whether the call that was inside at an abort is still there, and has had its time.
     */
    boolean isAbandoned() {
        Limit known = limit;
        return known != null
                && inside
                && known.call == number
                && System.nanoTime() - known.nanos >= 0;
    }

    /**
     * Lets the thread ask the device how far it is. Waits a millisecond for the answer at most, and
     * not at all while a call is inside.
     */
    void poll() {
        if (isCurrent()) {
            poll.run();
            return;
        }
        long before = rounds;
        asked = true;
        wake();
        for (int spins = 0; spins < SPINS; spins++) {
            if (rounds != before || inside) {
                return;
            }
            Thread.onSpinWait();
        }
        long end = System.nanoTime() + ANSWER_NANOS;
        for (long pauses = 0; rounds == before && !inside; pauses++) {
            if (System.nanoTime() - end >= 0) {
                return;
            }
            Polling.pause(pauses, 0);
        }
    }

    private void work() {
        for (int idle = 0; ; ) {
            DeviceCall call = take();
            if (call != null) {
                make(call);
                idle = 0;
            }
            if (asked) {
                // Before the poll: who asks meanwhile needs another one.
                asked = false;
                poll.run();
                rounds++;
                idle = 0;
            } else if (call == null && idle++ >= SPINS) {
                sleep();
                idle = 0;
            } else if (call == null) {
                Thread.onSpinWait();
            }
        }
    }

    private void sleep() {
        asleep = true;
        // Looks again, because who came before did not wake this thread.
        if (!asked && oldest == null) {
            LockSupport.park(this);
        }
        asleep = false;
    }

    private DeviceCall take() {
        if (oldest == null) {
            return null;
        }
        synchronized (this) {
            DeviceCall call = oldest;
            if (call != null) {
                oldest = call.next();
                call.become(DeviceCall.State.RUNNING);
            }
            return call;
        }
    }

    private void make(DeviceCall call) {
        number++;
        inside = true;
        Throwable thrown = null;
        try {
            enter();
            call.run();
        } catch (Throwable e) {
            thrown = e;
        }
        inside = false;
        Thread caller = call.caller();
        synchronized (this) {
            call.end(thrown);
        }
        LockSupport.unpark(caller);
    }

    private void enter() {
        if (!entered) {
            enter.run();
            entered = true;
        }
    }
}

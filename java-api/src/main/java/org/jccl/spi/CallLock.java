package org.jccl.spi;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * A reentrant lock that is held while a library is called. The call may never return, and nothing
 * ends it from outside. So a thread that waits for the lock looks again and again whether the lock
 * is still wanted, and gives up when it is not: a call on a group that has failed returns, even if
 * another thread never leaves the library. Waiting survives interrupts; the flag stays set.
 * Thread-safe.
 */
public final class CallLock {

    /** How long to wait before asking again. */
    private static final long SLICE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final ReentrantLock lock;
    private final BooleanSupplier isOver;

    /**
     * Creates a free lock.
     *
     * @param isOver whether waiting threads must give up, for instance because the group has
     *     failed; never blocks
     */
    public CallLock(BooleanSupplier isOver) {
        this(isOver, false);
    }

    /**
     * Creates a free lock.
     *
     * @param isOver whether waiting threads must give up; never blocks
     * @param fair whether a thread that locks without a pause lets the others in
     */
    public CallLock(BooleanSupplier isOver, boolean fair) {
        this.isOver = isOver;
        this.lock = new ReentrantLock(fair);
    }

    /**
     * Waits until the calling thread has the lock, or until it must give up. A free lock is taken
     * in any case.
     *
     * @return false if the calling thread gave up and has no lock
     */
    public boolean lock() {
        return lock.tryLock() || await(Long.MAX_VALUE, false);
    }

    /**
     * Waits for a limited time, whether or not waiting threads must give up.
     *
     * @param limit how long to wait
     * @return whether the calling thread has the lock
     */
    public boolean lock(Duration limit) {
        return lock.tryLock() || await(limit.toNanos(), true);
    }

    /** Waits for the lock as long as it takes, on a thread that nothing waits for. */
    public void lockAlways() {
        lock.lock();
    }

    private boolean await(long limitNanos, boolean always) {
        long begun = System.nanoTime();
        boolean interrupted = false;
        try {
            while (always || !isOver.getAsBoolean()) {
                long left = limitNanos - (System.nanoTime() - begun);
                if (left <= 0) {
                    return false;
                }
                try {
                    if (lock.tryLock(Math.min(left, SLICE_NANOS), TimeUnit.NANOSECONDS)) {
                        return true;
                    }
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            return false;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Takes the lock if it is free.
     *
     * @return whether the calling thread has the lock
     */
    public boolean tryLock() {
        return lock.tryLock();
    }

    /** Releases the lock, which the calling thread must have. */
    public void unlock() {
        lock.unlock();
    }

    /**
     * Returns whether the calling thread has the lock.
     *
     * @return true if it has
     */
    public boolean isHeld() {
        return lock.isHeldByCurrentThread();
    }
}

package org.jccl.spi;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * A reentrant lock that a thread holds while it calls a library. Such a call may never return. So a
 * thread that waits for the lock checks regularly whether it must give up. A call on a failed group
 * therefore returns, even if another thread never leaves the library. An interrupt does not end a
 * wait; the flag stays set. Thread-safe.
 */
public final class CallLock {

    /** The interval of the checks. */
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
     * @param fair true if waiting threads must get the lock before a thread that locks again
     *     without a pause
     */
    public CallLock(BooleanSupplier isOver, boolean fair) {
        this.isOver = isOver;
        this.lock = new ReentrantLock(fair);
    }

    /**
     * Waits until the calling thread has the lock, or until it must give up. Acquires a free lock
     * in any case.
     *
     * @return false if the calling thread gave up and has no lock
     */
    public boolean lock() {
        return lock.tryLock() || await(Long.MAX_VALUE, false);
    }

    /**
     * Waits for a limited time, even if waiting threads must give up.
     *
     * @param limit how long to wait
     * @return whether the calling thread has the lock
     */
    public boolean lock(Duration limit) {
        return lock.tryLock() || await(limit.toNanos(), true);
    }

    /**
     * Waits for the lock without a limit. Only a thread on which no other thread waits may call it.
     */
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
     * @return true if it has the lock
     */
    public boolean isHeld() {
        return lock.isHeldByCurrentThread();
    }
}

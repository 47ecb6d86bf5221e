package org.jccl.internal.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/** Lifetime of the memory behind tensors: freed once it is closed and no operation uses it. */
public final class Memory {

    private static final int CLOSED = Integer.MIN_VALUE;
    private static final VarHandle STATE;

    static {
        try {
            STATE = MethodHandles.lookup().findVarHandle(Memory.class, "state", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Memory that a library may use until the process ends. */
    private static final Set<Memory> KEPT = ConcurrentHashMap.newKeySet();

    /** How many objects are closed and still have users. */
    private static final AtomicInteger AWAITED = new AtomicInteger();

    /** Number of users, with {@link #CLOSED} added once closed. */
    @SuppressWarnings("unused")
    private volatile int state;

    private final Runnable release;
    private final Object owner;

    /** Whether the owner still has the memory, or null if that cannot end. */
    private final BooleanSupplier alive;

    /** What runs on close, or null if nothing does. Guarded by this object. */
    private Set<Closing> closings;

    /** An action of {@link #onClose}; one object for each call, also if the actions are equal. */
    private static final class Closing {
        final Runnable action;

        Closing(Runnable action) {
            this.action = action;
        }
    }

    private Memory(Object owner, BooleanSupplier alive, Runnable release) {
        this.owner = owner;
        this.alive = alive;
        this.release = release;
    }

    /** Memory of another owner, which stays reachable as long as this object is; may be null. */
    public static Memory borrowed(Object owner) {
        return borrowed(owner, null);
    }

    /** The same, of an owner that may free it; asked before each use. */
    public static Memory borrowed(Object owner, BooleanSupplier alive) {
        return new Memory(owner, alive, () -> {});
    }

    /**
     * Memory to be freed on close. When it becomes unreachable unclosed, that is logged and it
     * stays allocated: freeing from the garbage collector could pull it from under a native
     * library.
     *
     * @param release frees it
     * @param description what it is, for the log
     * @return the lifetime
     */
    public static Memory owned(Runnable release, String description) {
        AtomicBoolean freed = new AtomicBoolean();
        Memory memory =
                new Memory(
                        null,
                        null,
                        () -> {
                            freed.set(true);
                            release.run();
                        });
        Leaks.TENSORS.watch(memory, freed::get, description);
        return memory;
    }

    /**
     * Keeps the memory for one user.
     *
     * @return false if it is closed, or its owner has freed it
     */
    public boolean acquire() {
        if (alive != null && !alive.getAsBoolean()) {
            return false;
        }
        int seen;
        do {
            seen = state;
            if (seen < 0) {
                return false;
            }
        } while (!STATE.weakCompareAndSet(this, seen, seen + 1));
        return true;
    }

    /** Whether there is another user, for a caller that has acquired it. */
    public boolean isShared() {
        return (state & ~CLOSED) > 1;
    }

    /**
     * Retains the memory until the process ends, for a library that may use it until then. Takes
     * the place of one {@link #release}.
     */
    public void retain() {
        KEPT.add(this);
    }

    /** Ends one user's hold. */
    public void release() {
        if ((int) STATE.getAndAdd(this, -1) == CLOSED + 1) {
            free();
        }
    }

    /**
     * Adds an action that runs on close, before the memory can be freed.
     *
     * @return removes the action, or null if the memory is closed
     */
    public synchronized Runnable onClose(Runnable action) {
        if (isClosed()) {
            return null;
        }
        if (closings == null) {
            closings = new LinkedHashSet<>();
        }
        Closing closing = new Closing(action);
        closings.add(closing);
        return () -> remove(closing);
    }

    private synchronized void remove(Closing closing) {
        closings.remove(closing);
    }

    private synchronized List<Closing> closings() {
        return closings == null ? List.of() : List.copyOf(closings);
    }

    /** Runs the actions and frees the memory once the last user is done. Idempotent. */
    public void close() {
        AWAITED.incrementAndGet(); // before a user can free it
        int seen;
        do {
            seen = state;
            if (seen < 0) {
                AWAITED.decrementAndGet();
                return;
            }
        } while (!STATE.weakCompareAndSet(this, seen, seen + 1 + CLOSED));
        try {
            closings().forEach(each -> each.action.run());
        } finally {
            release();
        }
    }

    /** Whether any memory is closed and not freed, because an operation still uses it. */
    static boolean isAwaited() {
        return AWAITED.get() > 0;
    }

    /** Whether {@link #close} was called. */
    public boolean isClosed() {
        return state < 0;
    }

    private void free() {
        AWAITED.decrementAndGet();
        release.run();
        java.lang.ref.Reference.reachabilityFence(owner);
    }
}

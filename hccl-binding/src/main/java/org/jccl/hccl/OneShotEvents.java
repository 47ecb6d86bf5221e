package org.jccl.hccl;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.StampedLock;

/**
 * Events of CANN before 8.0.RC1, in which recording an event twice is not defined. A handle is a
 * number, and each record makes a new native event for it. The previous event is destroyed when it
 * is complete and every stream that waits for it has passed the wait.
 */
final class OneShotEvents implements Events {

    /** A native event, and whether a stream waits for it. */
    private record Retired(long event, boolean awaited) {}

    /** The state of a handle. Queries share the lock; everything else holds it alone. */
    private static final class Slot {
        final StampedLock lock = new StampedLock();
        final boolean timing;
        long event;
        boolean awaited;

        Slot(boolean timing) {
            this.timing = timing;
        }
    }

    private final ThreadScratch scratch;
    private final CurrentDevice device;

    /** By handle minus one; replaced when it grows. */
    private volatile Slot[] slots = new Slot[64];

    private int[] free = new int[64];
    private int freeCount;
    private int used;

    private final Map<Integer, ArrayDeque<Retired>> retiredByDevice = new HashMap<>();

    OneShotEvents(ThreadScratch scratch, CurrentDevice device) {
        this.scratch = scratch;
        this.device = device;
    }

    @Override
    public synchronized long create(boolean timing) {
        int index = freeCount > 0 ? free[--freeCount] : used++;
        if (index == slots.length) {
            slots = Arrays.copyOf(slots, 2 * slots.length);
        }
        slots[index] = new Slot(timing);
        return index + 1L;
    }

    private Slot slot(long handle) {
        return slots[(int) handle - 1];
    }

    @Override
    public void destroy(long handle) {
        Slot slot = slot(handle);
        long stamp = slot.lock.writeLock();
        try {
            retire(slot);
        } finally {
            slot.lock.unlockWrite(stamp);
        }
        synchronized (this) {
            if (freeCount == free.length) {
                free = Arrays.copyOf(free, 2 * freeCount);
            }
            free[freeCount++] = (int) handle - 1;
        }
    }

    @Override
    public void record(long handle, long stream) {
        Slot slot = slot(handle);
        long stamp = slot.lock.writeLock();
        try {
            retire(slot);
            slot.event = createNative(slot.timing);
            CannErrors.check(Acl.aclrtRecordEvent(slot.event, stream), "aclrtRecordEvent");
        } finally {
            slot.lock.unlockWrite(stamp);
        }
    }

    private long createNative(boolean timing) {
        int flag = timing ? Acl.EVENT_SYNC | Acl.EVENT_TIME_LINE : Acl.EVENT_SYNC;
        CannErrors.check(
                Acl.aclrtCreateEventWithFlag(scratch.address(), flag), "aclrtCreateEventWithFlag");
        return scratch.getLong();
    }

    @Override
    public void await(long stream, long handle) {
        Slot slot = slot(handle);
        long stamp = slot.lock.writeLock();
        try {
            slot.awaited = true;
            CannErrors.check(Acl.aclrtStreamWaitEvent(stream, slot.event), "aclrtStreamWaitEvent");
        } finally {
            slot.lock.unlockWrite(stamp);
        }
    }

    @Override
    public boolean query(long handle) {
        Slot slot = slot(handle);
        long stamp = slot.lock.tryReadLock();
        if (stamp == 0) {
            // The event is being recorded, which blocks while the queue of the stream is full.
            return false;
        }
        try {
            return slot.event == 0 || isRecorded(slot.event);
        } finally {
            slot.lock.unlockRead(stamp);
        }
    }

    private boolean isRecorded(long event) {
        CannErrors.check(
                Acl.aclrtQueryEventStatus(event, scratch.address()), "aclrtQueryEventStatus");
        return scratch.getInt() == Acl.EVENT_RECORDED_COMPLETE;
    }

    @Override
    public void synchronize(long handle) {
        long event = nativeOf(handle);
        if (event != 0) {
            CannErrors.check(Acl.aclrtSynchronizeEvent(event), "aclrtSynchronizeEvent");
        }
    }

    @Override
    public boolean awaitFor(long handle, long millis) {
        long event = nativeOf(handle);
        return event == 0 || Events.awaitNative(event, millis);
    }

    @Override
    public double elapsedMillis(long start, long end) {
        CannErrors.check(
                Acl.aclrtEventElapsedTime(scratch.address(), nativeOf(start), nativeOf(end)),
                "aclrtEventElapsedTime");
        return scratch.getFloat();
    }

    private long nativeOf(long handle) {
        Slot slot = slot(handle);
        long stamp = slot.lock.writeLock();
        try {
            return slot.event;
        } finally {
            slot.lock.unlockWrite(stamp);
        }
    }

    /** Removes a slot's native event, and destroys the unused ones of this device. */
    private void retire(Slot slot) {
        Retired retired = new Retired(slot.event, slot.awaited);
        slot.event = 0;
        slot.awaited = false;
        synchronized (retiredByDevice) {
            ArrayDeque<Retired> queue =
                    retiredByDevice.computeIfAbsent(device.get(), index -> new ArrayDeque<>());
            if (retired.event != 0) {
                queue.add(retired);
            }
            while (!queue.isEmpty() && isUnused(queue.peek())) {
                CannErrors.check(Acl.aclrtDestroyEvent(queue.poll().event), "aclrtDestroyEvent");
            }
        }
    }

    /** An event behind a failed task never completes, and must not delay the others. */
    private boolean isUnused(Retired retired) {
        if (Acl.aclrtQueryEventStatus(retired.event, scratch.address()) != Acl.SUCCESS) {
            return true;
        }
        if (scratch.getInt() != Acl.EVENT_RECORDED_COMPLETE) {
            return false;
        }
        return !retired.awaited
                || Acl.aclrtQueryEventWaitStatus(retired.event, scratch.address()) != Acl.SUCCESS
                || scratch.getInt() == Acl.STATUS_COMPLETE;
    }
}

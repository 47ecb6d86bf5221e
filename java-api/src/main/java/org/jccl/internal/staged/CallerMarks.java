package org.jccl.internal.staged;

import java.util.ArrayDeque;
import org.jccl.Device;
import org.jccl.internal.device.NativeEvent;
import org.jccl.spi.CleanUp;

/**
 * Events that say where callers' streams were, used again. One that was never given back belongs to
 * an operation that failed: its stream may be stuck, and destroying it then can hang, so it is
 * lost.
 */
final class CallerMarks implements AutoCloseable {

    private final Device device;
    private final ArrayDeque<NativeEvent> free = new ArrayDeque<>();

    CallerMarks(Device device) {
        this.device = device;
    }

    /** One to record. */
    NativeEvent take() {
        NativeEvent known;
        synchronized (this) {
            known = free.poll();
        }
        return known != null ? known : NativeEvent.create(device, false);
    }

    synchronized void giveBack(NativeEvent mark) {
        free.push(mark);
    }

    @Override
    public synchronized void close() {
        free.forEach(mark -> CleanUp.run(device.toString(), mark::close));
        free.clear();
    }
}
